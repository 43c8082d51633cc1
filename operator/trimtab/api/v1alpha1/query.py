"""The parts of a StreamPipeline's spec that define its query: source, transform, sink."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from trimtab.api.common import ApiModel, Name, Topic, cel
from trimtab.api.contract import KafkaSinkDocument, SinkDocument
from trimtab.api.offsets import Start
from trimtab.api.quantities import Quantity
from trimtab.api.v1alpha1.kafka_client import NO_SECURITY_HERE, RULES, Security

_ONE_KAFKA = (
    "has(self.cluster) != has(self.bootstrapServers)",
    "write either cluster: <name of a KafkaCluster here> or bootstrapServers: host:port",
)

MAX_SHUFFLE_PARTITIONS = 1000

Bootstrap = Annotated[str, Field(max_length=1024, pattern=r"^[A-Za-z0-9._:,\[\]-]+:[0-9]+$")]


TWICE = "source.kafka.topics names a topic twice: keep one of them"


class KafkaReference(Security):
    """A Kafka, and how it is reached."""

    model_config = {"json_schema_extra": cel(_ONE_KAFKA, *RULES)}
    cluster: Name | None = Field(None, description="A KafkaCluster in this namespace.")
    bootstrap_servers: Bootstrap | None = Field(
        None, alias="bootstrapServers", description="host:port of any Kafka, comma separated."
    )

    @model_validator(mode="after")
    def _plain_cluster(self) -> Self:
        if self.cluster is not None and (self.tls or self.authentication):
            raise ValueError(NO_SECURITY_HERE)
        return self


class KafkaSource(KafkaReference):
    """Topics of one Kafka cluster."""

    topics: list[Topic] = Field(
        min_length=1,
        max_length=16,
        description="Topics to read, all in one query.",
        json_schema_extra=cel(("self.all(t, self.exists_one(other, other == t))", TWICE)),
    )
    starting_offsets: Start = Field(
        "latest",
        alias="startingOffsets",
        description="Where the first checkpoint begins: latest, earliest, a time like"
        " 2026-01-31T12:00:00Z, or an offset for each partition, as JSON.",
    )
    isolation_level: Literal["read_committed", "read_uncommitted"] = Field(
        "read_committed",
        alias="isolationLevel",
        description="read_committed leaves out the records of aborted transactions, and waits for"
        " those of open ones.",
    )
    include_headers: bool = Field(
        False,
        alias="includeHeaders",
        description="Read the headers of records too, as the column headers; a column of that name"
        " in the result is written.",
    )
    fail_on_data_loss: bool = Field(
        True, alias="failOnDataLoss", description="Stop rather than skip records that expired."
    )

    @field_validator("topics")
    @classmethod
    def _each_once(cls, topics: list[str]) -> list[str]:
        if len(set(topics)) < len(topics):
            raise ValueError(TWICE)
        return topics


LOOP = (
    "the sink's topic is one of the source's topics: the pipeline would read what it writes,"
    " forever; write to another topic"
)


class Source(ApiModel):
    """Where records come from."""

    kafka: KafkaSource


class PythonTransform(ApiModel):
    """A function `transform(df, params) -> DataFrame`."""

    module: str = Field(
        max_length=253,
        description="module:function, from the image or from configMap.",
        json_schema_extra=cel(
            (
                r"self.matches('^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$')",
                "write module:function, like clicks:transform",
            )
        ),
    )
    config_map: Name | None = Field(
        None, alias="configMap", description="A ConfigMap here whose keys are the .py files."
    )
    params: dict[str, Annotated[str, Field(max_length=1024)]] = Field(
        default_factory=dict, max_length=32, description="Handed to the function as strings."
    )


class Transform(ApiModel):
    """What happens to the records: exactly one of sql and python."""

    model_config = {
        "json_schema_extra": cel(
            (
                "has(self.sql) != has(self.python)",
                "write exactly one transform: either sql: SELECT ... FROM source"
                " or python: {module: my_module:transform}",
            )
        )
    }
    sql: str | None = Field(
        None, max_length=16384, description="A query on the view `source`; returns key and value."
    )
    python: PythonTransform | None = None
    shuffle_partitions: int | None = Field(
        None,
        alias="shufflePartitions",
        ge=1,
        le=MAX_SHUFFLE_PARTITIONS,
        description="Partitions of the state of an aggregation or deduplication, each a task in"
        " every batch; a checkpoint keeps its initial number. Absent: as many as the topics have at"
        " the first start, at most 64.",
    )


class KafkaSink(KafkaReference):
    """A topic of one Kafka cluster."""

    topic: Topic = Field(description="Topic to write to.")


def in_one_kafka(source: KafkaSource, sink: KafkaSink) -> bool:
    """Whether both name the same cluster, or share one of their addresses."""
    if source.bootstrap_servers and sink.bootstrap_servers:
        return share_server(source.bootstrap_servers, sink.bootstrap_servers)
    return source.cluster is not None and source.cluster == sink.cluster


def share_server(one: str, other: str) -> bool:
    """Whether two lists of bootstrap servers have an address in common."""
    return not set(one.split(",")).isdisjoint(other.split(","))


class Sink(ApiModel):
    """Where the results go."""

    kafka: KafkaSink
    output_mode: Literal["append", "update"] = Field(
        "append",
        alias="outputMode",
        description="append: each result row once, when it is final. update: a row whenever it"
        " changes.",
    )

    @property
    def reference(self) -> KafkaSink | None:
        """The Kafka cluster that it names; None if it names none."""
        return self.kafka

    @property
    def sends(self) -> bool:
        """Whether a Kafka producer writes the results, so that its knobs apply."""
        return True

    def document(self, servers: str) -> SinkDocument:
        """The sink in `job.json`; `servers` are those of its Kafka cluster."""
        return KafkaSinkDocument(
            bootstrap_servers=servers,
            topic=self.kafka.topic,
            tls=self.kafka.tls,
            authentication=self.kafka.authentication,
        )


class VolumeClaim(ApiModel):
    """The claim that holds the checkpoint."""

    size: Quantity = Field(1 << 30, description="Size of the volume.")
    storage_class_name: Name | None = Field(
        None, alias="storageClassName", description="Absent: the cluster's default class."
    )
    shared: bool = Field(
        False,
        description="Mounted by driver and executors (ReadWriteMany), which an aggregation or"
        " deduplication needs for its state; the storage class must support it.",
    )


_URI = "(has({0}.uri) ? {0}.uri : '')"
_SHARED = "(has({0}.volumeClaim) && {0}.volumeClaim.shared)"
_PLACE_KEPT = f"{_URI.format('self')} == {_URI.format('oldSelf')}"
_SHARED_KEPT = f"{_SHARED.format('self')} == {_SHARED.format('oldSelf')}"


class Checkpoint(ApiModel):
    """Where the query keeps its progress: in a claim (the default), or under a URI."""

    model_config = {
        "json_schema_extra": cel(
            (
                "!(has(self.uri) && has(self.volumeClaim))",
                "the checkpoint is in one place: write either volumeClaim or uri",
            ),
            (
                "!has(self.uri) || self.deletionPolicy == 'Retain'",
                "trimtab deletes nothing under checkpoint.uri: leave deletionPolicy at Retain",
            ),
            (
                f"self.generation > oldSelf.generation || {_PLACE_KEPT}",
                "another place is a new checkpoint: raise checkpoint.generation with"
                " checkpoint.uri, or restore the old one",
            ),
            (
                f"has(self.uri) || has(oldSelf.uri) || {_SHARED_KEPT}",
                "checkpoint.volumeClaim.shared cannot change, as a volume's access mode cannot:"
                " restore it, or delete the pipeline and its claim <name>-checkpoint and create"
                " them again",
            ),
        )
    }
    volume_claim: VolumeClaim | None = Field(
        None, alias="volumeClaim", description="The claim; absent and without uri: one of 1Gi."
    )
    uri: str | None = Field(
        None,
        max_length=1024,
        description="A directory in any Hadoop file system that the image and sparkConf support,"
        " like s3a://bucket/path, in place of a claim. The checkpoint is in <namespace>/<name>"
        " below it.",
        json_schema_extra=cel(
            (
                "self.matches('^[a-z][a-z0-9+.-]*://[^ ?#]*[^ ?#/]/?$')"
                " && !self.startsWith('file:')",
                "write the URI of a directory that outlives pods, like s3a://bucket/path or"
                " hdfs://namenode:8020/path",
            ),
            (
                "!self.matches('//[^/]*:[^/]*@')",
                "anyone can read a password in a URI: pass it to the pods, and remove it here",
            ),
        ),
    )
    deletion_policy: Literal["Retain", "Delete"] = Field(
        "Retain",
        alias="deletionPolicy",
        description="Retain keeps the claim when the pipeline is deleted.",
    )
    generation: int = Field(
        1,
        ge=1,
        le=10**6,
        description="Raise it to begin a new checkpoint. It cannot be lowered.",
    )
    resume: bool | None = Field(
        None,
        description="A new generation begins at the offsets that the previous one has committed."
        " false: at startingOffsets. Default: true.",
    )

    @property
    def claim(self) -> VolumeClaim | None:
        """The required claim; None if the checkpoint is under a URI."""
        return None if self.uri is not None else self.volume_claim or VolumeClaim()

"""The parts of a StreamPipeline's spec that define its query: source, transform, sink."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from trimtab.api.common import ApiModel, Name, Topic, cel, function_rule
from trimtab.api.endpoints import (
    DeadLettersDocument,
    KafkaSinkDocument,
    KafkaSourceDocument,
    SinkDocument,
)
from trimtab.api.offsets import Start
from trimtab.api.v1alpha1.formats import MOST_ASIDE, Format
from trimtab.api.v1alpha1.kafka_client import NO_SECURITY_HERE, RULES, Security
from trimtab.api.v1alpha1.sinks import (
    DeltaSink,
    FilesSink,
    FunctionSink,
    JdbcSink,
    NoopSink,
    OtherSink,
)

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
        max_length=100,
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
    commit_group: str | None = Field(
        None,
        alias="commitGroup",
        max_length=249,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="A consumer group whose offsets follow the query, for Kafka's own tools to"
        " show. Nothing else may use it; the position itself is in the checkpoint.",
    )

    format: Format | None = Field(
        None,
        description="What the values are: the transform then gets them decoded too, as the column"
        " record, a struct. A value that cannot be decoded fails the batch, or goes to"
        " deadLetters.",
    )

    def document(self, servers: str) -> KafkaSourceDocument:
        """The source in `job.json`."""
        return KafkaSourceDocument(
            bootstrap_servers=servers,
            tls=self.tls,
            authentication=self.authentication,
            topics=self.topics,
            include_headers=True if self.include_headers else None,
            commit_group=self.commit_group,
            format=self.format,
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


DEAD_LOOP = (
    "deadLetters.topic is one of the source's topics: the pipeline would read what it could not"
    " read, forever; write to another topic"
)


TOO_MANY_ASIDE = (
    f"with source.kafka.format, deadLetters.maxPerBatch is at most {MOST_ASIDE}: the driver holds"
    " such records in memory until they are written"
)


class Source(ApiModel):
    """Where records come from."""

    kafka: KafkaSource


class PythonTransform(ApiModel):
    """A function `transform(df, params) -> DataFrame`."""

    module: str = Field(
        max_length=253,
        description="module:function, from the image or from configMap.",
        json_schema_extra=function_rule("clicks:transform"),
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

    @property
    def words(self) -> str:
        """Where it writes to, in words."""
        return f"topic {self.topic} of {self.cluster or self.bootstrap_servers}"

    def document(self, servers: str) -> KafkaSinkDocument:
        """The sink in `job.json`."""
        return KafkaSinkDocument(
            bootstrap_servers=servers,
            topic=self.topic,
            tls=self.tls,
            authentication=self.authentication,
        )


class DeadLetters(ApiModel):
    """What happens to records that cannot be used."""

    topic: Topic = Field(description="Topic of the source's Kafka that they go to.")
    max_per_batch: int = Field(
        100,
        alias="maxPerBatch",
        ge=0,
        le=10**9,
        description="With more of them in one batch the pipeline stalls, and nothing is written.",
    )

    def document(self) -> DeadLettersDocument:
        """The same in `job.json`."""
        return DeadLettersDocument(topic=self.topic, max_per_batch=self.max_per_batch)


def in_one_kafka(source: KafkaSource, sink: KafkaSink) -> bool:
    """Whether both name the same cluster, or share one of their addresses."""
    if source.bootstrap_servers and sink.bootstrap_servers:
        return share_server(source.bootstrap_servers, sink.bootstrap_servers)
    return source.cluster is not None and source.cluster == sink.cluster


def share_server(one: str, other: str) -> bool:
    """Whether two lists of bootstrap servers have an address in common."""
    return not set(one.split(",")).isdisjoint(other.split(","))


_KINDS = ("kafka", "jdbc", "delta", "files", "foreachBatch", "noop")
ONE_SINK = f"write exactly one sink, of {', '.join(_KINDS)}"


class Sink(ApiModel):
    """Where the results go: exactly one kind."""

    model_config = {
        "json_schema_extra": cel(
            (f"[{', '.join(f'has(self.{kind})' for kind in _KINDS)}].exists_one(k, k)", ONE_SINK)
        )
    }
    kafka: KafkaSink | None = None
    jdbc: JdbcSink | None = None
    delta: DeltaSink | None = None
    files: FilesSink | None = None
    foreach_batch: FunctionSink | None = Field(None, alias="foreachBatch")
    noop: NoopSink | None = None
    output_mode: Literal["append", "update"] = Field(
        "append",
        alias="outputMode",
        description="append: each result row once, when it is final. update: a row whenever it"
        " changes.",
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(kind is not None for kind in self._kinds) != 1:
            raise ValueError(ONE_SINK)
        return self

    @property
    def _kinds(self) -> tuple[KafkaSink | OtherSink | None, ...]:
        return self.kafka, self.jdbc, self.delta, self.files, self.foreach_batch, self.noop

    @property
    def _chosen(self) -> KafkaSink | OtherSink:
        return next(kind for kind in self._kinds if kind is not None)

    @property
    def reference(self) -> KafkaSink | None:
        """The Kafka cluster that it names; None if it names none."""
        return self.kafka

    @property
    def sends(self) -> bool:
        """Whether a Kafka producer writes the results, so that its knobs apply."""
        return self.kafka is not None

    @property
    def words(self) -> str:
        """Where it writes to, in words."""
        return self._chosen.words

    def document(self, servers: str) -> SinkDocument:
        """The sink in `job.json`; `servers` are those of its Kafka cluster, if it names one."""
        chosen = self._chosen
        return chosen.document(servers) if isinstance(chosen, KafkaSink) else chosen.document()

"""The operator-driver contract: what the operator writes and the driver reads.

Two documents, each the only key of one ConfigMap:

- `<name>-tuning` / `settings.json`: the knob values and the source options in force, watched by
  the driver;
- `<name>-job` / `job.json`: what the query is (source, transform, sink), read once at start.

Unknown schema numbers and keys are refused: the driver keeps running with what it has.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trimtab.api.connection import KafkaConnection
from trimtab.api.knobs import KnobValues
from trimtab.api.offsets import Start
from trimtab.api.quantities import Duration
from trimtab.api.v1alpha1.pod_template import PodTemplate
from trimtab.errors import ContractError

SETTINGS_KEY = "settings.json"
JOB_KEY = "job.json"
JOB_DIRECTORY = "/etc/trimtab/job"
TUNING_DIRECTORY = "/etc/trimtab/tuning"
MODULES_DIRECTORY = "/etc/trimtab/modules"
"""Where the driver's pod finds job.json, settings.json, and the Python files of a transform."""
CHECKPOINT_DIRECTORY = "/var/lib/trimtab/checkpoint"
"""Where the checkpoint is mounted: in the driver's pod, and in executors that share it."""
USER_ID = 10001
"""User and group of driver and executors, because both write files on a shared volume."""
DRIVER_STATE_ANNOTATION = "trimtab.dev/driver-state"
"""On the driver's pod: `Reason: message` while the driver waits for a failure to heal."""
EXECUTORS_ANNOTATION = "trimtab.dev/executors-refused"
"""On the driver's pod: the API server's words while it refuses executor pods."""


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the contract's key names."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def to_json(self) -> str:
        """The document as stable, readable JSON."""
        return json.dumps(self.to_dict(), indent=1, sort_keys=True)


D = TypeVar("D", bound=_Document)


class SourceOptions(_Document):
    """How the source is read. Not a knob: users set it, and a query restart applies it."""

    starting_offsets: Start = Field("latest", alias="startingOffsets")
    fail_on_data_loss: bool = Field(True, alias="failOnDataLoss")
    isolation_level: Literal["read_uncommitted"] | None = Field(
        None, alias="isolationLevel", description="absent: read_committed"
    )


class Settings(_Document):
    """`settings.json`: the knob values and source options of one generation, and the reason."""

    schema_: Literal[1] = Field(1, alias="schema")
    generation: int = Field(ge=0)
    pipeline_uid: str = Field(alias="pipelineUid", max_length=64)
    settings: KnobValues
    source: SourceOptions = SourceOptions()
    reason: str = Field("", max_length=1024)

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Parse; raises ContractError that names the key or schema that is not understood."""
        return _parse(cls, text)


class _OnKafka(_Document):
    """A part of the job that connects to a Kafka cluster."""

    bootstrap_servers: str = Field(alias="bootstrapServers")

    @property
    def connection(self) -> KafkaConnection:
        """How to connect to the cluster."""
        return KafkaConnection(self.bootstrap_servers)


class KafkaSourceDocument(_OnKafka):
    """Where records come from."""

    topics: list[str]
    include_headers: Literal[True] | None = Field(None, alias="includeHeaders")


class TransformDocument(_Document):
    """What happens to the records: exactly one of SQL over the view `source`, or Python."""

    sql: str | None = None
    module: str | None = Field(None, description="module:function of transform(df, params) -> df")
    params: dict[str, str] = Field(default_factory=dict)
    shuffle_partitions: int | None = Field(
        None, alias="shufflePartitions", description="of the state; absent: the driver chooses"
    )


class KafkaSinkDocument(_OnKafka):
    """The results go to a Kafka topic."""

    kind: Literal["kafka"] = "kafka"
    topic: str


class NoopSinkDocument(_Document):
    """The results are computed and discarded."""

    kind: Literal["noop"] = "noop"


SinkDocument = Annotated[KafkaSinkDocument | NoopSinkDocument, Field(discriminator="kind")]
"""Where the results go. `job/query/sinks` has a module for each kind."""


class Executors(_Document):
    """The shape of an executor pod; the number of pods is a knob."""

    image: str
    cores: int = 1
    cpu_request: str = Field("1", alias="cpuRequest")
    memory_bytes: int = Field(alias="memoryBytes")
    overhead_bytes: int | None = Field(
        None, alias="overheadBytes", description="of it outside the heap; absent: the usual part"
    )
    service_account: str | None = Field(None, alias="serviceAccount")
    labels: dict[str, str] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    node_selector: dict[str, str] = Field(default_factory=dict, alias="nodeSelector")
    java_options: str | None = Field(None, alias="javaOptions")
    pod_template: PodTemplate | None = Field(
        None, alias="podTemplate", description="what users and the chart add; absent: nothing"
    )
    checkpoint_claim: str | None = Field(
        None, alias="checkpointClaim", description="claim that executors mount; absent: none"
    )


class Job(_Document):
    """`job.json`: everything that a driver needs to build and run its pipeline's query."""

    schema_: Literal[1] = Field(1, alias="schema")
    namespace: str
    pipeline: str
    pipeline_uid: str = Field(alias="pipelineUid")
    source: KafkaSourceDocument
    transform: TransformDocument
    sink: SinkDocument
    output_mode: Literal["append", "update"] = Field("append", alias="outputMode")
    checkpoint_uri: str = Field(alias="checkpointUri")
    drain_timeout_s: Duration = Field(60.0, alias="drainTimeout")
    resume: Literal[False] | None = Field(
        None, description="absent: a new checkpoint begins where the previous generation ended"
    )
    hang_timeout_s: Duration | None = Field(None, alias="hangTimeout")
    executors: Annotated[Executors | None, Field(description="absent: Spark local mode")] = None
    spark_conf: dict[str, str] = Field(default_factory=dict, alias="sparkConf")

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Parse; raises ContractError that names the key or schema that is not understood."""
        return _parse(cls, text)


def _parse(model: type[D], text: str) -> D:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(p) for p in e['loc']) or 'document'}: {e['msg']}"
            for e in error.errors()
        )
        raise ContractError(f"{model.__name__.lower()} document refused: {faults}") from error

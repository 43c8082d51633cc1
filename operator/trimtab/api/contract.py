"""The operator-driver contract: what the operator writes and the driver reads.

Three documents, in two ConfigMaps:

- `<name>-tuning` / `settings.json`: the knob values and the source options in force, watched by
  the driver;
- `<name>-tuning` / `reflex.json`, beside it: what the driver may do by itself, if anything;
- `<name>-job` / `job.json`: what the query is (source, transform, sink), read once at start.

An unknown schema number is refused: the driver keeps running with what it has. So is an unknown
key of the settings. One of the job is ignored, because a user's image may be older than the
operator: a key that a driver must not ignore comes with the next schema number. A key is absent
unless the user or the chart asks for it, so that older drivers read what says nothing new.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from trimtab.api.endpoints import (
    DeadLettersDocument,
    Document,
    KafkaSourceDocument,
    SeveralSourcesDocument,
    SinkDocument,
    SourceDocument,
)
from trimtab.api.knobs import KnobValues
from trimtab.api.offsets import Start
from trimtab.api.packages import Packages
from trimtab.api.pod_user import PodUser
from trimtab.api.quantities import Duration
from trimtab.api.v1alpha1.environment import EnvSource
from trimtab.api.v1alpha1.kafka_client import SecretKey
from trimtab.api.v1alpha1.pod_template import PodTemplate, TopologySpread
from trimtab.api.v1alpha1.tables import Table
from trimtab.api.v1alpha1.transform import Archive, ModulesImage
from trimtab.api.v1alpha1.volumes import Volume
from trimtab.errors import ContractError

log = logging.getLogger(__name__)

SETTINGS_KEY = "settings.json"
REFLEX_KEY = "reflex.json"
JOB_KEY = "job.json"
JOB_DIRECTORY = "/etc/trimtab/job"
TUNING_DIRECTORY = "/etc/trimtab/tuning"
MODULES_DIRECTORY = "/etc/trimtab/modules"
"""Where the driver's pod finds job.json, settings.json, and the Python files of a transform."""
CHECKPOINT_DIRECTORY = "/var/lib/trimtab/checkpoint"
"""Where the checkpoint is mounted: in the driver's pod, and in executors that share it."""
FORM = 2
"""How a driver makes its executors, as its termination log says: 2, restricted and without a token.

A log without it is that of the release 0.1.0, whose executors the chart's admission policy refuses.
"""
DRIVER_STATE_ANNOTATION = "trimtab.dev/driver-state"
"""On the driver's pod: `Reason: message` while the driver waits for a failure to heal."""
EXECUTORS_ANNOTATION = "trimtab.dev/executors-refused"
"""On the driver's pod: the API server's words while it refuses executor pods."""


D = TypeVar("D", bound=Document)


class SourceOptions(Document):
    """How the source is read. Not a knob: users set it, and a query restart applies it."""

    starting_offsets: Start = Field("latest", alias="startingOffsets")
    fail_on_data_loss: bool = Field(True, alias="failOnDataLoss")
    isolation_level: Literal["read_uncommitted"] | None = Field(
        None, alias="isolationLevel", description="absent: read_committed"
    )


class Settings(Document):
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


class Carries(Document):
    """How much some executors carry."""

    executors: int = Field(ge=1)
    rate: float = Field(ge=0, description="records/s at the higher bound")


class Reflex(Document):
    """`reflex.json`: how far the driver may raise executors by itself, in one generation.

    A key of its own, so that drivers of older images ignore it.
    """

    schema_: Literal[1] = Field(1, alias="schema")
    generation: int = Field(ge=0, description="of the settings that it belongs to")
    pipeline_uid: str = Field(alias="pipelineUid", max_length=64)
    expires_s: float = Field(alias="expires", description="seconds since 1970")
    catch_up_s: float = Field(gt=0, alias="catchUpSeconds")
    in_flight_s: float = Field(
        ge=0, alias="inFlightSeconds", description="of input that wait although nothing is late"
    )
    steps: tuple[Carries, ...] = Field(
        min_length=1, description="more executors carry more; the last are the most allowed"
    )

    @classmethod
    def from_json(cls, text: str) -> Reflex:
        """Parse; raises ContractError that names the key or schema that is not understood."""
        return _parse(cls, text)


class TransformDocument(Document):
    """What happens to the records: SQL over the view `source`, a function, a script or a class."""

    sql: str | None = None
    module: str | None = Field(None, description="module:function of transform(df, params) -> df")
    script: str | None = Field(None, description="file that hands over its stream")
    args: list[str] | None = Field(None, description="arguments of the script")
    class_: str | None = Field(
        None, alias="class", description="a BiFunction of a frame and params to a frame"
    )
    jar: str | None = Field(None, description="path of its jar; absent: it is on the class path")
    params: dict[str, str] = Field(default_factory=dict)
    tables: list[Table] | None = Field(None, description="views beside `source`; absent: none")
    archives: list[Archive] | None = Field(
        None, description="of modules, to read from an object store; absent: none"
    )
    modules_from: ModulesImage | None = Field(
        None, alias="modulesFrom", description="image that a folder was copied from; absent: none"
    )
    shuffle_partitions: int | None = Field(
        None, alias="shufflePartitions", description="of the state; absent: the driver chooses"
    )


class Executors(Document):
    """The shape of an executor pod; the number of pods is a knob."""

    image: str
    cores: int = 1
    cpu_request: str = Field("1", alias="cpuRequest")
    memory_bytes: int = Field(alias="memoryBytes")
    overhead_bytes: int | None = Field(
        None, alias="overheadBytes", description="of it outside the heap; absent: the usual part"
    )
    scratch_bytes: int | None = Field(
        None, alias="scratchBytes", description="limit of Spark's local directory; absent: 20 GiB"
    )
    service_account: str | None = Field(None, alias="serviceAccount")
    labels: dict[str, str] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    env_from: dict[str, EnvSource] | None = Field(
        None, alias="envFrom", description="variables whose values are elsewhere; absent: none"
    )
    node_selector: dict[str, str] = Field(default_factory=dict, alias="nodeSelector")
    java_options: str | None = Field(None, alias="javaOptions")
    pod_template: PodTemplate | None = Field(
        None, alias="podTemplate", description="what users and the chart add; absent: nothing"
    )
    topology_spread: tuple[TopologySpread, ...] | None = Field(
        None, alias="topologySpread", description="how they are spread; absent: as may be"
    )
    pod_user: PodUser | None = Field(
        None, alias="podUser", description="whom the pods run as; absent: the images' own user"
    )
    checkpoint_claim: str | None = Field(
        None, alias="checkpointClaim", description="claim that executors mount; absent: none"
    )
    volumes: tuple[Volume, ...] | None = Field(
        None, description="what users mount; absent: nothing"
    )
    packages: Packages | None = Field(
        None, description="what the pods install, the driver's too; absent: nothing"
    )


class Job(Document):
    """`job.json`: everything that a driver needs to build and run its pipeline's query.

    Its schema is 2 where it has what such a driver must not ignore, such as `tls` or `format`: a
    driver that ignored these would try to do without.
    """

    schema_: Literal[1, 2] = Field(1, alias="schema")
    namespace: str
    pipeline: str
    pipeline_uid: str = Field(alias="pipelineUid")
    source: SourceDocument
    transform: TransformDocument
    sink: SinkDocument
    dead_letters: DeadLettersDocument | None = Field(
        None, alias="deadLetters", description="absent: a row with an error is none"
    )
    output_mode: Literal["append", "update"] = Field("append", alias="outputMode")
    execution: Literal["realTime", "auto"] | None = Field(
        None, description="auto: in real time if the transform allows it; absent: micro-batches"
    )
    checkpoint_uri: str = Field(alias="checkpointUri")
    drain_timeout_s: Duration = Field(60.0, alias="drainTimeout")
    resume: Literal[False] | None = Field(
        None, description="absent: a new checkpoint begins where the previous generation ended"
    )
    hang_timeout_s: Duration | None = Field(None, alias="hangTimeout")
    spark_ui: Literal[True] | None = Field(None, alias="sparkUI", description="absent: no web UI")
    event_log_uri: str | None = Field(
        None, alias="eventLogUri", description="absent: Spark logs no events"
    )
    listeners: list[str] | None = Field(None, description="absent: none but trimtab's own")
    executors: Annotated[Executors | None, Field(description="absent: Spark local mode")] = None
    spark_conf: dict[str, str] = Field(default_factory=dict, alias="sparkConf")

    @property
    def kafka_source(self) -> KafkaSourceDocument | None:
        """The one Kafka that it reads from; None if it reads from none, or from several."""
        return self.source if isinstance(self.source, KafkaSourceDocument) else None

    @property
    def kafka_sources(self) -> Mapping[str, KafkaSourceDocument]:
        """All that it reads from Kafka, by the names of their views; one alone has no name."""
        if isinstance(self.source, SeveralSourcesDocument):
            return {each.name: each.source for each in self.source.sources}
        return {"": self.source} if isinstance(self.source, KafkaSourceDocument) else {}

    @property
    def secret_keys(self) -> tuple[SecretKey, ...]:
        """What the pods mount of Secrets."""
        parts = (self.source, self.sink, *(self.transform.tables or ()))
        return tuple(dict.fromkeys(key for part in parts for key in part.secret_keys))

    @property
    def volumes(self) -> tuple[Volume, ...]:
        """What users mount into its pods."""
        return (self.executors.volumes or ()) if self.executors else ()

    @property
    def packages(self) -> Packages | None:
        """What its pods install."""
        return self.executors.packages if self.executors else None

    @property
    def mounted(self) -> frozenset[tuple[str, str]]:
        """What its pods mount, or read variables from, each as resource and name."""
        sources = (self.executors.env_from or {}).values() if self.executors else ()
        secrets = {each.secret_key_ref.name for each in sources if each.secret_key_ref}
        secrets |= {key.secret for key in self.secret_keys}
        asked = {volume.named for volume in self.volumes if volume.named}
        asked |= set(self.packages.mounted if self.packages else ())
        return frozenset(asked | {("secrets", name) for name in secrets})

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Parse, and log which keys are ignored because they are unknown.

        Raises:
            ContractError: the document is not understood; names the key or schema.
        """
        job = _parse(cls, text, extra="ignore")
        try:
            cls.model_validate_json(text)
        except ValidationError as error:
            unknown = ", ".join(_place(fault) for fault in error.errors())
            log.warning(
                "keys of the job document that this image does not know are ignored: %s; build it"
                " on the operator's trimtab-pipeline",
                unknown,
            )
        return job


def _parse(model: type[D], text: str, extra: Literal["ignore", "forbid"] = "forbid") -> D:
    try:
        return model.model_validate_json(text, extra=extra)
    except ValidationError as error:
        faults = "; ".join(f"{_place(fault)}: {fault['msg']}" for fault in error.errors())
        raise ContractError(f"{model.__name__.lower()} document refused: {faults}") from error


def _place(fault: ErrorDetails) -> str:
    return ".".join(str(part) for part in fault["loc"]) or "document"

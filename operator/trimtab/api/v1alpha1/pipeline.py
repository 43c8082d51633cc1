"""StreamPipeline: what users write. Tuned values never go in here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from trimtab.api.common import ApiModel, cel, require_one
from trimtab.api.quantities import DAY_S, HOUR_S, Duration, between
from trimtab.api.reserved import SPARK_RULES, env_faults, spark_faults
from trimtab.api.v1alpha1.checkpoint import Checkpoint
from trimtab.api.v1alpha1.environment import EnvVar
from trimtab.api.v1alpha1.formats import MOST_ASIDE
from trimtab.api.v1alpha1.goal import Goal
from trimtab.api.v1alpha1.kafka_reference import in_one_kafka
from trimtab.api.v1alpha1.kafka_source import KafkaStream
from trimtab.api.v1alpha1.limits import Limits, Resources
from trimtab.api.v1alpha1.origin import ONE_OR_SEVERAL_SOURCES, Origin, Sources
from trimtab.api.v1alpha1.pipeline_rules import (
    GOAL_WITHOUT_KAFKA,
    NO_REAL_TIME,
    NO_RUNS,
    RULES,
    SEVERAL_TAKE,
    TABLE_TAKEN,
    TOO_SMALL,
)
from trimtab.api.v1alpha1.pod_template import (
    NodeSelector,
    PipelinePodTemplate,
    PodTemplate,
    Role,
    ServiceAccount,
)
from trimtab.api.v1alpha1.query import (
    DEAD_LOOP,
    LOOP,
    NO_DEAD_LETTERS,
    TOO_MANY_ASIDE,
    DeadLetters,
    KafkaSink,
    Sink,
    Source,
)
from trimtab.api.v1alpha1.results import ONE_OR_SEVERAL, RESULT, TAKEN, Results, Sinks
from trimtab.api.v1alpha1.runs import Runs
from trimtab.api.v1alpha1.spark_ui import EventLog, Listeners, SparkUI, require_place
from trimtab.api.v1alpha1.transform import Transform
from trimtab.api.v1alpha1.tuning import Tuning
from trimtab.api.v1alpha1.volumes import Volumes

Execution = Literal["microBatch", "realTime", "auto"]
"""How Spark runs a query."""

REAL_TIME_BELOW_S = 2.0
"""Latency goals, in seconds, that batches rarely reach."""


class StreamPipelineSpec(ApiModel):
    """A pipeline from its source through Spark to its sink, and the goal that it must meet."""

    model_config = {"json_schema_extra": cel(*RULES)}
    goal: Goal
    source: Source | None = None
    sources: Sources | None = Field(
        None,
        description="Several Kafkas, or topics that are read apart, each a view of its name, in"
        " place of source.",
    )
    transform: Transform
    sink: Sink | None = None
    sinks: Sinks | None = Field(
        None,
        description="Several sinks of one query, written one after the other, in place of sink.",
    )
    dead_letters: DeadLetters | None = Field(
        None,
        alias="deadLetters",
        description="Where records go that cannot be decoded or for which the transform raises an"
        " error, and rows whose column `error` is not null. Absent: such records fail their batch,"
        " and that column means nothing.",
    )
    execution: Execution = Field(
        "microBatch",
        description="realTime: Spark's real-time mode, which writes each record as it comes. auto:"
        " so for a latency below 2 s, if source, transform and sink allow it, else in batches.",
    )
    checkpoint: Checkpoint = Field(default_factory=Checkpoint)
    image: str | None = Field(
        None, max_length=512, description="Image with Spark and the transform; default: trimtab's."
    )
    env: list[EnvVar] = Field(
        default_factory=list,
        max_length=64,
        description="Environment of driver and executors.",
        json_schema_extra=cel(
            (
                "self.all(e, self.exists_one(other, other.name == e.name))",
                "env has one name twice: keep one of the entries",
            )
        ),
    )
    volumes: Volumes = Field(
        default_factory=list,
        description="Volumes of driver and executors, each with the path where it is mounted.",
    )
    spark_conf: dict[str, Annotated[str, Field(max_length=2048)]] = Field(
        default_factory=dict,
        alias="sparkConf",
        max_length=64,
        description="Spark settings other than those that are reserved.",
        json_schema_extra=cel(*SPARK_RULES),
    )
    spark_ui: SparkUI | None = Field(
        None, alias="sparkUI", description="Spark's web UI; absent: none."
    )
    event_log: EventLog | None = Field(
        None, alias="eventLog", description="Where Spark logs its events; absent: nowhere."
    )
    listeners: Listeners = Field(
        default_factory=list,
        description="Classes of the image that Spark tells of its events, such as OpenLineage's;"
        " those that the cluster allows.",
    )
    node_selector: NodeSelector = Field(
        default_factory=dict,
        alias="nodeSelector",
        description="Node labels required for driver and executors.",
    )
    pod_template: PipelinePodTemplate | None = Field(
        None, alias="podTemplate", description="More of the pods of driver and executors."
    )
    service_account: ServiceAccount | None = Field(
        None, alias="serviceAccount", description="More of the accounts of driver and executors."
    )
    resources: Resources = Field(default_factory=Resources)
    limits: Limits = Field(default_factory=Limits)
    drain_timeout: Annotated[Duration, between(1.0, 6 * HOUR_S)] = Field(
        60.0, alias="drainTimeout", description="Maximum wait for the running batch at a stop."
    )
    hang_timeout: Annotated[Duration, between(60.0, DAY_S)] | None = Field(
        None,
        alias="hangTimeout",
        description="The driver restarts if a batch has made no progress for this long: no task has"
        " ended and no record was read. Default: 15m.",
    )
    evictable: bool = Field(
        True,
        description="False keeps evictions, such as those of a node's drain or of an autoscaler,"
        " from taking the driver, with a PodDisruptionBudget: they wait until this is true again.",
    )
    tuning: Tuning = Field(default_factory=Tuning)
    suspend: bool = Field(False, description="True stops the query at a batch boundary.")
    runs: Runs | None = Field(None, description="When the pipeline runs; absent: all the time.")

    @property
    def origin(self) -> Origin:
        """Where the records come from."""
        return Origin(self.source, tuple(self.sources or ()))

    @property
    def results(self) -> Results:
        """Where the results go."""
        return Results((self.sink,) if self.sink else tuple(self.sinks or ()))

    def reaching(
        self, sources: Sequence[KafkaStream], topics: Iterable[KafkaSink]
    ) -> StreamPipelineSpec:
        """The same with what its Kafka references stand for.

        `sources` are those of `origin`, `topics` those of `results`.
        """
        found, origin = iter(topics), self.origin.reaching(sources)
        sinks = [
            sink.model_copy(update={"kafka": next(found)}) if sink.kafka else sink
            for sink in self.results.sinks
        ]
        written = {"sink": sinks[0]} if self.sink else {"sinks": sinks}
        read = {"source": origin.source, "sources": list(origin.sources) or None}
        return self.model_copy(update={**read, **written})

    @property
    def shows_ui(self) -> bool:
        """Whether the driver serves Spark's web UI."""
        return self.spark_ui is not None and self.spark_ui.enabled

    def pods_of(self, role: Role) -> PodTemplate:
        """What users choose for the pods of a role."""
        return self.pod_template.of(role) if self.pod_template else PodTemplate()

    def nodes_of(self, role: Role) -> dict[str, str]:
        """The node labels that the pods of a role require."""
        own = getattr(self.pod_template, role, None)
        return self.node_selector | (own.node_selector if own else {})

    @property
    def wants(self) -> Literal["realTime", "auto"] | None:
        """What the driver is to try: real-time mode, or that if the transform allows it."""
        if self.execution == "realTime":
            return "realTime"
        return "auto" if self.execution == "auto" and not self.why_not_real_time else None

    @property
    def why_not_real_time(self) -> str:
        """What of the spec keeps `auto` from real-time mode; empty if nothing does."""
        latency = self.goal.latency
        if latency is not None and latency.target >= REAL_TIME_BELOW_S:
            return f"batches reach a latency of {REAL_TIME_BELOW_S:g} s and more"
        return "" if self._fits_real_time else NO_REAL_TIME

    @property
    def _fits_real_time(self) -> bool:
        latency = self.goal.latency
        by_producer = latency is not None and latency.clock == "producer"
        to_kafka = self.sink is not None and self.sink.kafka is not None
        needs_batches = self.dead_letters or self.runs or self.transform.python
        awake = self.limits.executors.min > 0
        return bool(self.origin.kafka and to_kafka and by_producer and awake and not needs_batches)

    @model_validator(mode="after")
    def _real_time(self) -> StreamPipelineSpec:
        if self.execution == "realTime" and not self._fits_real_time:
            raise ValueError(NO_REAL_TIME)
        return self

    @model_validator(mode="after")
    def _reserved(self) -> StreamPipelineSpec:
        names = [variable.name for variable in self.env]
        twice = sorted({name for name in names if names.count(name) > 1})
        faults = [*spark_faults(self.spark_conf), *env_faults(names)]
        faults += [f"env {name!r} is there twice: keep one" for name in twice]
        if faults:
            raise ValueError("; ".join(faults))
        return self

    @model_validator(mode="after")
    def _one_or_several(self) -> StreamPipelineSpec:
        require_one((self.sink, self.sinks), ONE_OR_SEVERAL)
        if self.sinks and any(table.name == RESULT for table in self.transform.tables):
            raise ValueError(TAKEN)
        return self

    @model_validator(mode="after")
    def _event_log_stays(self) -> StreamPipelineSpec:
        require_place(self.event_log, self.volumes)
        return self

    @model_validator(mode="after")
    def _room_for_the_fewest(self) -> StreamPipelineSpec:
        fewest, executor = max(1, self.limits.executors.min), self.resources.executor
        for what, limit, each in (
            ("cores", self.limits.cores, executor.cores),
            ("memory", self.limits.memory, executor.memory),
        ):
            if limit is not None and limit < fewest * each:
                raise ValueError(TOO_SMALL.format(what))
        return self

    @model_validator(mode="after")
    def _one_source_or_several(self) -> StreamPipelineSpec:
        require_one((self.source, self.sources), ONE_OR_SEVERAL_SOURCES)
        if self.sources:
            names = {source.name for source in self.sources}
            if any(table.name in names for table in self.transform.tables):
                raise ValueError(TABLE_TAKEN)
            if self.transform.jvm or (self.transform.python and self.transform.python.script):
                raise ValueError(SEVERAL_TAKE)
            if self.dead_letters:
                raise ValueError(NO_DEAD_LETTERS)
        return self

    @model_validator(mode="after")
    def _without_kafka(self) -> StreamPipelineSpec:
        if self.origin.kafkas:
            return self
        if self.dead_letters:
            raise ValueError(NO_DEAD_LETTERS)
        if self.runs:
            raise ValueError(NO_RUNS)
        if self.goal.latency is None or self.goal.latency.clock != "producer":
            raise ValueError(GOAL_WITHOUT_KAFKA)
        return self

    @model_validator(mode="after")
    def _no_loop(self) -> StreamPipelineSpec:
        source = self.origin.kafka
        if source and self.dead_letters and source.reads(self.dead_letters.topic):
            raise ValueError(DEAD_LOOP)
        aside = self.dead_letters if source and source.format else None
        if aside and aside.max_per_batch > MOST_ASIDE:
            raise ValueError(TOO_MANY_ASIDE)
        for sink in self.results.kafkas:
            for each in self.origin.kafkas:
                if each.reads(sink.topic) and in_one_kafka(each, sink):
                    raise ValueError(LOOP)
        return self

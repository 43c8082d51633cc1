"""StreamPipeline: what users write. Tuned values never go in here."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from trimtab.api.common import ApiModel, cel
from trimtab.api.quantities import Duration, between
from trimtab.api.reserved import SPARK_RULES, env_faults, spark_faults
from trimtab.api.v1alpha1.checkpoint import Checkpoint
from trimtab.api.v1alpha1.environment import EnvVar
from trimtab.api.v1alpha1.formats import MOST_ASIDE
from trimtab.api.v1alpha1.goal import Goal
from trimtab.api.v1alpha1.kafka_reference import in_one_kafka
from trimtab.api.v1alpha1.kafka_source import KafkaSource
from trimtab.api.v1alpha1.limits import Limits, Resources
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
from trimtab.api.v1alpha1.runs import Runs
from trimtab.api.v1alpha1.spark_ui import EVENT_LOG_RULE, EventLog, SparkUI, require_place
from trimtab.api.v1alpha1.transform import Transform
from trimtab.api.v1alpha1.tuning import Tuning
from trimtab.api.v1alpha1.volumes import Volumes

SHUFFLE_PARTITIONS_KEY = "spark.sql.shuffle.partitions"


_HOUR_S, _DAY_S = 3600.0, 86400.0

_ONE_KAFKA = " || ".join(
    f"has(self.source.kafka.{by}) && has(self.sink.kafka) && has(self.sink.kafka.{by})"
    f" && self.source.kafka.{name} == self.sink.kafka.{name}"
    for by, name in (
        ("cluster", "cluster"),
        ("strimzi", "strimzi.name"),
        ("bootstrapServers", "bootstrapServers"),
    )
)


def _reads(topic: str) -> str:
    """CEL: whether the source reads a topic."""
    source = "self.source.kafka"
    return (
        f"has({source}) && ((has({source}.topics) && {topic} in {source}.topics)"
        f" || (has({source}.topicPattern)"
        f" && {topic}.matches('^(' + {source}.topicPattern + ')$')))"
    )


TOO_SMALL = (
    "limits.{0} is less than limits.executors.min needs, or than one executor: raise it, or lower"
    " executors.min or resources.executor.{0}"
)
NO_RUNS = "a run takes on what there is, and source.rate has no end: remove runs"
GOAL_OF_RATE = (
    "with source.rate, write a goal of latency, by the clock of the producer, which is the time in"
    " each row: how many rows wait is not known"
)
_FEWEST = "(self.limits.executors.min > 0 ? self.limits.executors.min : 1)"
_LIMIT, _POD = "self.limits.memory", "self.resources.executor.memory"
_PIN = "has(self.tuning.pinned) && has(self.tuning.pinned.executors)"


class StreamPipelineSpec(ApiModel):
    """A pipeline from its source through Spark to its sink, and the goal that it must meet."""

    model_config = {
        "json_schema_extra": cel(
            (
                f"!({_PIN}) || (self.tuning.pinned.executors >= self.limits.executors.min"
                " && self.tuning.pinned.executors <= self.limits.executors.max)",
                "tuning.pinned.executors must lie within limits.executors",
            ),
            (
                f"!has(self.limits.cores) || self.limits.cores >= {_FEWEST} *"
                " self.resources.executor.cores",
                TOO_SMALL.format("cores"),
            ),
            (
                f"!has(self.limits.memory) || !isQuantity({_LIMIT}) || !isQuantity({_POD})"
                f" || quantity({_LIMIT}).asApproximateFloat()"
                f" >= double({_FEWEST}) * quantity({_POD}).asApproximateFloat()",
                TOO_SMALL.format("memory"),
            ),
            (
                "!has(self.limits.executorCores)"
                " || self.limits.executorCores >= self.resources.executor.cores",
                "limits.executorCores is less than resources.executor.cores: raise the former or"
                " lower the latter",
            ),
            (
                "!has(self.limits.topicPartitions) || has(self.source.kafka)"
                " && ((has(self.source.kafka.cluster) || has(self.source.kafka.strimzi))"
                " && has(self.source.kafka.topics) && size(self.source.kafka.topics) == 1)",
                "limits.topicPartitions is for one topic of a KafkaCluster or of a Strimzi Kafka"
                " here: name it in source.kafka.cluster or source.kafka.strimzi, with one topic,"
                " or remove the limit",
            ),
            EVENT_LOG_RULE,
            (
                f"!has(self.source.kafka) || !({_ONE_KAFKA})"
                f" || !({_reads('self.sink.kafka.topic')})",
                LOOP,
            ),
            (f"!has(self.deadLetters) || !({_reads('self.deadLetters.topic')})", DEAD_LOOP),
            (
                "!has(self.deadLetters) || !has(self.source.kafka)"
                " || !has(self.source.kafka.format)"
                f" || self.deadLetters.maxPerBatch <= {MOST_ASIDE}",
                TOO_MANY_ASIDE,
            ),
            ("!has(self.source.rate) || !has(self.deadLetters)", NO_DEAD_LETTERS),
            ("!has(self.source.rate) || !has(self.runs)", NO_RUNS),
            (
                "!has(self.source.rate) || (has(self.goal.latency)"
                " && self.goal.latency.clock == 'producer')",
                GOAL_OF_RATE,
            ),
            (
                "!has(self.transform.shufflePartitions)"
                f" || !(has(self.sparkConf) && '{SHUFFLE_PARTITIONS_KEY}' in self.sparkConf)",
                "the number of shuffle partitions is set twice: remove"
                f" {SHUFFLE_PARTITIONS_KEY} from sparkConf",
            ),
        )
    }
    goal: Goal
    source: Source
    transform: Transform
    sink: Sink
    dead_letters: DeadLetters | None = Field(
        None,
        alias="deadLetters",
        description="Where records go that cannot be decoded, and rows whose column `error` is not"
        " null. Absent: the former fail their batch, and that column means nothing.",
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
    drain_timeout: Annotated[Duration, between(1.0, 6 * _HOUR_S)] = Field(
        60.0, alias="drainTimeout", description="Maximum wait for the running batch at a stop."
    )
    hang_timeout: Annotated[Duration, between(60.0, _DAY_S)] | None = Field(
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

    def reaching(self, source: KafkaSource | None, sink: KafkaSink | None) -> StreamPipelineSpec:
        """The same with what its Kafka references stand for."""
        found = self.sink if sink is None else self.sink.model_copy(update={"kafka": sink})
        return self.model_copy(
            update={"source": self.source.model_copy(update={"kafka": source}), "sink": found}
        )

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
    def _without_kafka(self) -> StreamPipelineSpec:
        if self.source.rate is None:
            return self
        if self.dead_letters:
            raise ValueError(NO_DEAD_LETTERS)
        if self.runs:
            raise ValueError(NO_RUNS)
        if self.goal.latency is None or self.goal.latency.clock != "producer":
            raise ValueError(GOAL_OF_RATE)
        return self

    @model_validator(mode="after")
    def _no_loop(self) -> StreamPipelineSpec:
        source, sink = self.source.kafka, self.sink.reference
        if source is None:
            return self
        if self.dead_letters and source.reads(self.dead_letters.topic):
            raise ValueError(DEAD_LOOP)
        if source.format and self.dead_letters and self.dead_letters.max_per_batch > MOST_ASIDE:
            raise ValueError(TOO_MANY_ASIDE)
        if sink and source.reads(sink.topic) and in_one_kafka(source, sink):
            raise ValueError(LOOP)
        return self

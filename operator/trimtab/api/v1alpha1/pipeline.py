"""StreamPipeline: what users write. Tuned values never go in here."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from trimtab.api.common import ApiModel, cel
from trimtab.api.quantities import Duration, between
from trimtab.api.reserved import SPARK_RULES, env_faults, spark_faults
from trimtab.api.v1alpha1.checkpoint import Checkpoint
from trimtab.api.v1alpha1.environment import EnvVar
from trimtab.api.v1alpha1.formats import MOST_ASIDE
from trimtab.api.v1alpha1.limits import Limits, Resources
from trimtab.api.v1alpha1.pod_template import PodTemplate
from trimtab.api.v1alpha1.query import (
    DEAD_LOOP,
    LOOP,
    TOO_MANY_ASIDE,
    DeadLetters,
    Sink,
    Source,
    Transform,
    in_one_kafka,
)
from trimtab.api.v1alpha1.tuning import Tuning

SHUFFLE_PARTITIONS_KEY = "spark.sql.shuffle.partitions"


_HOUR_S, _DAY_S = 3600.0, 86400.0

CatchUp = Annotated[Duration, between(1.0, 7 * _DAY_S)]
"""How long draining a backlog may take."""


class LatencyGoal(ApiModel):
    """From a record's timestamp in Kafka to the commit of its batch."""

    percentile: Literal[50, 95, 99] = Field(95, description="Percentile of a batch's records.")
    target: Annotated[Duration, between(0.1, _DAY_S)] = Field(
        description="The percentile must stay at or below this."
    )
    catch_up: CatchUp | None = Field(
        None,
        alias="catchUp",
        description="Time to drain a backlog, if not as tuning.profile says.",
    )
    clock: Literal["producer", "broker"] = Field(
        "producer",
        description="Where the time of a record begins: producer, at its timestamp; broker, when it"
        " was in the topic, for mirrored topics and producers whose clocks are wrong.",
    )


class ThroughputGoal(ApiModel):
    """Process the input, up to a rate, and the backlog within catchUp; or as much as possible."""

    model_config = {
        "json_schema_extra": cel(
            (
                "has(self.recordsPerSecond) != (has(self.max) && self.max)",
                "write exactly one of throughput: {recordsPerSecond: 1000} and {max: true}",
            )
        )
    }
    records_per_second: int | None = Field(
        None, alias="recordsPerSecond", ge=1, le=10**8, description="The rate to hold."
    )
    max: bool = Field(
        False, description="As many records/s as the limits allow, whatever the backlog."
    )
    catch_up: CatchUp | None = Field(
        None,
        alias="catchUp",
        description="Time to drain a backlog, if not as tuning.profile says.",
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> ThroughputGoal:
        if (self.records_per_second is None) != self.max:
            raise ValueError(
                "write exactly one of throughput: {recordsPerSecond: 1000} and {max: true}"
            )
        return self


class Goal(ApiModel):
    """What the pipeline must achieve: exactly one of latency and throughput."""

    model_config = {
        "json_schema_extra": cel(
            (
                "has(self.latency) != has(self.throughput)",
                "write exactly one goal: either latency: {target: 15s}"
                " or throughput: {recordsPerSecond: 1000}",
            )
        )
    }
    latency: LatencyGoal | None = None
    throughput: ThroughputGoal | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Goal:
        if (self.latency is None) == (self.throughput is None):
            raise ValueError("write exactly one goal: latency or throughput")
        return self


_ONE_KAFKA = " || ".join(
    f"has(self.source.kafka.{by}) && has(self.sink.kafka) && has(self.sink.kafka.{by})"
    f" && self.source.kafka.{by} == self.sink.kafka.{by}"
    for by in ("cluster", "bootstrapServers")
)

TOO_SMALL = (
    "limits.{0} is less than limits.executors.min needs, or than one executor: raise it, or lower"
    " executors.min or resources.executor.{0}"
)
_FEWEST = "(self.limits.executors.min > 0 ? self.limits.executors.min : 1)"
_LIMIT, _POD = "self.limits.memory", "self.resources.executor.memory"
_PIN = "has(self.tuning.pinned) && has(self.tuning.pinned.executors)"


class StreamPipelineSpec(ApiModel):
    """A pipeline from Kafka through Spark, and the goal that it must meet."""

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
                "!has(self.limits.topicPartitions) || (has(self.source.kafka.cluster)"
                " && size(self.source.kafka.topics) == 1)",
                "limits.topicPartitions is for one topic of a KafkaCluster here: name the cluster"
                " in source.kafka.cluster and one topic, or remove the limit",
            ),
            (f"!({_ONE_KAFKA}) || !(self.sink.kafka.topic in self.source.kafka.topics)", LOOP),
            (
                "!has(self.deadLetters) || !(self.deadLetters.topic in self.source.kafka.topics)",
                DEAD_LOOP,
            ),
            (
                "!has(self.deadLetters) || !has(self.source.kafka.format)"
                f" || self.deadLetters.maxPerBatch <= {MOST_ASIDE}",
                TOO_MANY_ASIDE,
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
    spark_conf: dict[str, Annotated[str, Field(max_length=2048)]] = Field(
        default_factory=dict,
        alias="sparkConf",
        max_length=64,
        description="Spark settings other than those that are reserved.",
        json_schema_extra=cel(*SPARK_RULES),
    )
    node_selector: dict[str, Annotated[str, Field(max_length=63)]] = Field(
        default_factory=dict,
        alias="nodeSelector",
        max_length=16,
        description="Node labels required for driver and executors.",
    )
    pod_template: PodTemplate | None = Field(
        None, alias="podTemplate", description="More of the pods of driver and executors."
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
    def _no_loop(self) -> StreamPipelineSpec:
        source, sink = self.source.kafka, self.sink.reference
        if self.dead_letters and self.dead_letters.topic in source.topics:
            raise ValueError(DEAD_LOOP)
        if source.format and self.dead_letters and self.dead_letters.max_per_batch > MOST_ASIDE:
            raise ValueError(TOO_MANY_ASIDE)
        if sink and sink.topic in source.topics and in_one_kafka(source, sink):
            raise ValueError(LOOP)
        return self

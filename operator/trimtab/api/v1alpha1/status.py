"""StreamPipeline's status: conditions, observed goal, effective knobs, decisions, memory."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from trimtab.api.common import Condition, StatusModel
from trimtab.api.knobs import KnobValues
from trimtab.api.quantities import Quantity
from trimtab.api.v1alpha1.runs import RunStatus

MAX_DECISIONS = 10
MAX_POLICY_VALUES = 64


class ConditionType(StrEnum):
    """The declared set of conditions."""

    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"
    GOAL_MET = "GoalMet"
    METRICS_AVAILABLE = "MetricsAvailable"
    TUNING = "Tuning"
    SATURATED = "Saturated"
    EXECUTORS_MISSING = "ExecutorsMissing"
    SUSPENDED = "Suspended"
    RECORDS_EXPIRING = "RecordsExpiring"


class GoalStatus(StatusModel):
    """The goal and its observed value, as strings for people."""

    target: str = Field(max_length=64, description="The goal, in words.")
    observed: str | None = Field(
        None, max_length=64, description="What was seen of it; absent: not known."
    )


class LagStatus(StatusModel):
    """Records and seconds behind the end of the topics."""

    records: int | None = Field(
        None, description="Records written but not yet committed by the query."
    )
    time: str | None = Field(None, max_length=32, description="Age of the oldest of them.")
    most_in: str | None = Field(
        None, alias="mostIn", max_length=63, description="The source with most of them, of several."
    )


class PaceStatus(StatusModel):
    """How often the pipeline is sampled and decided on."""

    scrape: str = Field(max_length=32, description="Time between two samples of the metrics.")
    tick: str = Field(max_length=32, description="Time between two decisions.")


class BottleneckStatus(StatusModel):
    """What limits the pipeline, with the evidence."""

    kind: str = Field(max_length=32, description="Its name; None: nothing limits it.")
    evidence: str = Field("", max_length=512, description="The figures that show it.")


class FlowStatus(StatusModel):
    """Whether every stage takes what comes and passes on what it has processed."""

    state: str = Field(
        max_length=32,
        description="Flowing; Starved: slots idle while records wait; Blocked: delivery is slow.",
    )
    evidence: str = Field("", max_length=512, description="The figures that show it.")


class LedgerStatus(StatusModel):
    """What the delivery ledger has counted since the driver started."""

    mismatches: int | None = Field(
        None, description="Records that were read but not written, or the reverse."
    )
    missing: int | None = Field(
        None, description="Records that were written, but that the sink does not have by its count."
    )
    skipped: int | None = Field(
        None, description="Offsets without a record: transactions, compaction, or a loss."
    )
    late: int | None = Field(None, description="Rows dropped because they came too late.")


class ExecutorsStatus(StatusModel):
    """How loaded the executors are now, and how busy they were in the last minute."""

    load: str = Field(max_length=16, description="Slots in use or waited for, as a share.")
    capacity: str = Field(max_length=16, description="Task time per slot time, as a share.")
    case: str = Field(max_length=32, description="What both mean together; see trimtab explain.")


class PartitionsAdvice(StatusModel):
    """How many partitions of the source would remove the bottleneck."""

    partitions: int = Field(description="How many.")
    reason: str = Field(max_length=1024, description="Why, and who adds them.")


class OversizeStatus(StatusModel):
    """A batch that is replayed as planned, with more records than the limit allows now."""

    batch: int = Field(description="Its number.")
    records: int = Field(description="Records that it was planned with.")
    limit: int = Field(description="Records that a new batch may have.")
    replays: int = Field(description="How often it has been replayed.")


class JvmAdvice(StatusModel):
    """Recommended values for the JVMs of one role; absent ones stay as they are."""

    memory: Quantity | None = Field(None, description="Memory limit of the pod.")
    new_generation: Quantity | None = Field(
        None, alias="newGeneration", description="Part of the heap for new objects."
    )
    collector: str | None = Field(None, max_length=16, description="Serial, Parallel or G1.")
    overhead: Quantity | None = Field(None, description="Part of the pod outside the heap.")
    reason: str = Field(max_length=1024, description="The collections that call for it.")


class JvmStatus(StatusModel):
    """Advice on the JVMs; in mode Auto it takes effect at the next driver restart."""

    driver: JvmAdvice | None = None
    executor: JvmAdvice | None = None


class RecommendationStatus(StatusModel):
    """A change that waits for approval."""

    generation: int = Field(
        description="Its number: the annotation trimtab.dev/approve with this value applies it."
    )
    since: str = Field(max_length=40, description="When it was made.")
    changes: Annotated[list[Annotated[str, Field(max_length=128)]], Field(max_length=8)] = Field(
        default_factory=list, description="What it would change, as in executors 1 -> 3."
    )
    load: str = Field(max_length=16, description="Load when it was made.")
    predicted_load: str = Field(
        alias="predictedLoad", max_length=16, description="Load that it would have led to."
    )
    cores: str = Field(
        max_length=32, description="Task slots of the executors now and then, as in 2 -> 4."
    )
    cost: str | None = Field(
        None,
        max_length=64,
        description="What the executors cost now and then, with the prices of the chart.",
    )


class AdviceRecordStatus(StatusModel):
    """How good past recommendations were."""

    given: int = Field(description="Recommendations so far.")
    approved: int = Field(description="Recommendations that somebody approved.")
    asked: int = Field(
        description="How often a standing recommendation was checked, every 5 minutes."
    )
    held_advised: int = Field(
        alias="heldAdvised",
        description="How often it would have held the goal, by the model of that moment.",
    )
    held_as_run: int = Field(
        alias="heldAsRun", description="How often the pipeline held the goal as it ran."
    )


class CostStatus(StatusModel):
    """What the pods reserve: CPU and memory that they request, the driver included."""

    since: str = Field(max_length=40)
    executor_hours: str = Field(alias="executorHours", max_length=24)
    core_hours: str = Field(alias="coreHours", max_length=24)
    gib_hours: str = Field(alias="gibHours", max_length=24)
    static_executors: int | None = Field(
        None,
        alias="staticExecutors",
        description="Executors that the highest input so far needs, if they run all the time.",
    )
    static_core_hours: str | None = Field(
        None, alias="staticCoreHours", max_length=24, description="What these would have reserved."
    )
    now: str = Field(max_length=64, description="What is reserved now.")
    step: str = Field(max_length=64, description="What one executor more or less reserves.")
    money: str | None = Field(
        None, max_length=128, description="At the prices of the chart, if it has any."
    )


class PolicyValue(StatusModel):
    """A value that a policy set for the pipeline."""

    field: str = Field(max_length=64, description="What was set, such as mode or executors.max.")
    value: str = Field(max_length=128, description="The value.")
    policy: str = Field(max_length=320, description="Kind and name of the policy.")


class DecisionRecord(StatusModel):
    """One decision, with its reason in words."""

    time: str = Field(max_length=40, description="When it was taken.")
    action: str = Field(max_length=32, description="Change, Keep, Revert or Recommend.")
    reason: str = Field(max_length=64, description="Why, in one word for programs.")
    message: str = Field("", max_length=1024, description="Why, with the figures, for people.")
    generation: int = Field(0, description="Generation of the settings that it left in force.")
    changes: Annotated[list[Annotated[str, Field(max_length=128)]], Field(max_length=8)] = Field(
        default_factory=list, description="What it changed, as in executors 1 -> 3."
    )


class StreamPipelineStatus(StatusModel):
    """What the operator knows about the pipeline."""

    observed_generation: int = Field(
        -1, alias="observedGeneration", description="The metadata.generation that this is about."
    )
    conditions: Annotated[tuple[Condition, ...], Field(max_length=16)] = Field(
        (), description="What is the case, and why; one of each type."
    )
    mode: str | None = Field(None, max_length=16, description="The mode in force.")
    goal: GoalStatus | None = None
    load: str | None = Field(None, max_length=16, description="Load of a recent decision.")
    cores: int | None = Field(None, description="Task slots of the executors asked for.")
    cost: CostStatus | None = None
    execution: str | None = Field(
        None,
        max_length=512,
        description="How the query runs, if the spec asks for more than batches.",
    )
    run: RunStatus | None = None
    lag: LagStatus | None = None
    partitions: int | None = Field(None, description="Partitions of the source's topics.")
    partitions_advice: PartitionsAdvice | None = Field(
        None, alias="partitionsAdvice", description="Stands until the source has that many."
    )
    oversize: OversizeStatus | None = None
    pace: PaceStatus | None = None
    bottleneck: BottleneckStatus | None = None
    flow: FlowStatus | None = None
    ledger: LedgerStatus | None = None
    executors: ExecutorsStatus | None = None
    jvm: JvmStatus | None = None
    policies: Annotated[tuple[PolicyValue, ...], Field(max_length=MAX_POLICY_VALUES)] = Field(
        (), description="Values that policies set, and which of them did."
    )
    effective: KnobValues | None = None
    recommended: KnobValues | None = None
    recommendation: RecommendationStatus | None = None
    advice_record: AdviceRecordStatus | None = Field(None, alias="adviceRecord")
    decisions: Annotated[tuple[DecisionRecord, ...], Field(max_length=MAX_DECISIONS)] = Field(
        (), description="The last of them."
    )
    controller: dict[str, Any] | None = Field(
        None,
        description="The controller's memory, from which a restarted operator continues.",
        json_schema_extra={"x-kubernetes-preserve-unknown-fields": True},
    )

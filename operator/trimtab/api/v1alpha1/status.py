"""StreamPipeline's status: conditions, observed goal, effective knobs, decisions, memory."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from trimtab.api.common import Condition, StatusModel
from trimtab.api.knobs import KnobValues
from trimtab.api.quantities import Quantity

MAX_DECISIONS = 10


class ConditionType(StrEnum):
    """The declared set of conditions."""

    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"
    GOAL_MET = "GoalMet"
    METRICS_AVAILABLE = "MetricsAvailable"
    TUNING = "Tuning"
    SATURATED = "Saturated"
    SUSPENDED = "Suspended"


class GoalStatus(StatusModel):
    """The goal and what is seen of it, as strings for people."""

    target: str = Field(max_length=64)
    observed: str | None = Field(None, max_length=64)


class LagStatus(StatusModel):
    """Records and seconds behind the end of the topics."""

    records: int | None = None
    time: str | None = Field(None, max_length=32)


class PaceStatus(StatusModel):
    """How often the pipeline is looked at."""

    scrape: str = Field(max_length=32, description="Time between two samples of the metrics.")
    tick: str = Field(max_length=32, description="Time between two decisions.")


class BottleneckStatus(StatusModel):
    """What holds the pipeline back, and how it was seen."""

    kind: str = Field(max_length=32)
    evidence: str = Field("", max_length=512)


class FlowStatus(StatusModel):
    """Whether every stage takes what comes and passes on what it has processed."""

    state: str = Field(
        max_length=32,
        description="Flowing; Starved: slots idle though records wait; Blocked: delivery is slow.",
    )
    evidence: str = Field("", max_length=512)


class LedgerStatus(StatusModel):
    """What the driver's delivery ledger says since the driver began."""

    mismatches: int = Field(description="Records that were read but not written, or the reverse.")


class ExecutorsStatus(StatusModel):
    """How loaded the executors are now, and how busy they were in the last minute."""

    load: str = Field(max_length=16, description="Slots in use or waited for, as a share.")
    capacity: str = Field(max_length=16, description="Task time per slot time, as a share.")
    case: str = Field(max_length=32, description="What both together mean; explain says it.")


class PartitionsAdvice(StatusModel):
    """How many partitions of the source would lift what holds the pipeline back."""

    partitions: int
    reason: str = Field(max_length=1024)


class OversizeStatus(StatusModel):
    """A batch that runs again as it was planned, with more records than the limit allows now."""

    batch: int
    records: int
    limit: int
    replays: int = Field(description="How often it has begun again.")


class JvmAdvice(StatusModel):
    """What the JVMs of one role should have; what is absent stays as it is."""

    memory: Quantity | None = Field(None, description="Memory limit of the pod.")
    new_generation: Quantity | None = Field(
        None, alias="newGeneration", description="Part of the heap for new objects."
    )
    collector: str | None = Field(None, max_length=16, description="Serial, Parallel or G1.")
    overhead: Quantity | None = Field(None, description="Part of the pod beside the heap.")
    reason: str = Field(max_length=1024)


class JvmStatus(StatusModel):
    """Advice on the JVMs; in mode Auto it is in force from the next driver restart on."""

    driver: JvmAdvice | None = None
    executor: JvmAdvice | None = None


class DecisionRecord(StatusModel):
    """One decision, with its reason in words."""

    time: str = Field(max_length=40)
    action: str = Field(max_length=32)
    reason: str = Field(max_length=64)
    message: str = Field("", max_length=1024)
    generation: int = 0
    changes: Annotated[list[Annotated[str, Field(max_length=128)]], Field(max_length=8)] = Field(
        default_factory=list
    )


class StreamPipelineStatus(StatusModel):
    """What the operator knows of the pipeline."""

    observed_generation: int = Field(-1, alias="observedGeneration")
    conditions: Annotated[tuple[Condition, ...], Field(max_length=16)] = ()
    goal: GoalStatus | None = None
    lag: LagStatus | None = None
    partitions: int | None = Field(None, description="Partitions of the source's topics.")
    partitions_advice: PartitionsAdvice | None = Field(
        None, alias="partitionsAdvice", description="Stands until the source has as many."
    )
    oversize: OversizeStatus | None = None
    pace: PaceStatus | None = None
    bottleneck: BottleneckStatus | None = None
    flow: FlowStatus | None = None
    ledger: LedgerStatus | None = None
    executors: ExecutorsStatus | None = None
    jvm: JvmStatus | None = None
    effective: KnobValues | None = None
    recommended: KnobValues | None = None
    decisions: Annotated[tuple[DecisionRecord, ...], Field(max_length=MAX_DECISIONS)] = ()
    controller: dict[str, Any] | None = Field(
        None,
        description="The controller's memory; a restarted operator goes on from it.",
        json_schema_extra={"x-kubernetes-preserve-unknown-fields": True},
    )

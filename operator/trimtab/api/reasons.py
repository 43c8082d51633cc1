"""Every reason that a decision or a condition may have: stable names for people and alerts."""

from __future__ import annotations

from enum import StrEnum


class Action(StrEnum):
    """What a decision does."""

    HOLD = "Hold"
    CHANGE = "Change"
    KEEP = "Keep"
    REVERT = "Revert"
    UNPROVEN = "Unproven"
    """Ends a trial without a verdict; the change stays."""
    RECOMMEND = "Recommend"


class Reason(StrEnum):
    """Why a decision was taken."""

    # hold
    NO_METRICS = "NoMetrics"
    METRICS_STALE = "MetricsStale"
    NO_BATCH_YET = "NoBatchYet"
    LOAD_UNKNOWN = "LoadUnknown"
    TRIAL_OPEN = "TrialOpen"
    CATCHING_UP = "CatchingUp"
    WITHIN_BOUNDS = "WithinBounds"
    DWELLING = "Dwelling"
    SATURATED = "Saturated"
    GOAL_INFEASIBLE = "GoalInfeasible"
    PINNED = "Pinned"
    FAILED_BEFORE = "FailedBefore"
    RECENT_PEAK = "RecentPeak"
    BATCH_WITHOUT_END = "BatchWithoutEnd"
    OBSERVE_ONLY = "ObserveOnly"
    NOT_APPLIED_YET = "NotAppliedYet"
    PLANNED_OVERSIZE = "PlannedOversize"
    CALIBRATING = "Calibrating"
    METRICS_CONTRADICT = "MetricsContradict"
    OUT_OF_LIMITS = "OutOfLimits"
    LOCKED = "Locked"
    OVER_BUDGET = "OverBudget"
    TOO_MANY_CHANGES = "TooManyChanges"
    POLICY_CONFLICT = "PolicyConflict"
    TOO_MANY_PAUSES = "TooManyPauses"
    WINDOW_CLOSED = "WindowClosed"
    KAFKA_REBALANCING = "KafkaRebalancing"
    TOPIC_FIXED = "TopicFixed"
    IDLE = "Idle"
    AWAKE = "Awake"
    # change
    EXECUTORS_RAISED = "ExecutorsRaised"
    RAISED_BY_DRIVER = "RaisedByDriver"
    EXECUTORS_RELEASED = "ExecutorsReleased"
    EXECUTORS_LOWERED = "ExecutorsLowered"
    TRIGGER_SHORTENED = "TriggerShortened"
    TRIGGER_LENGTHENED = "TriggerLengthened"
    BATCH_LIMIT_RAISED = "BatchLimitRaised"
    BATCH_LIMIT_LOWERED = "BatchLimitLowered"
    PARTITIONS_SPLIT = "PartitionsSplit"
    PARTITIONS_RAISED = "PartitionsRaised"
    CORES_RAISED = "CoresRaised"
    CALLS_RAISED = "CallsRaised"
    CALLS_LOWERED = "CallsLowered"
    PRODUCER_CHANGED = "ProducerChanged"
    WRITERS_CHANGED = "WritersChanged"
    SCOPE_NARROWED = "ScopeNarrowed"
    SCOPE_WIDENED = "ScopeWidened"
    CLAMPED = "Clamped"
    # trials
    TRIAL_KEPT = "TrialKept"
    TRIAL_NO_GAIN = "TrialNoGain"
    TRIAL_WORSE = "TrialWorse"
    TRIAL_UNPROVEN = "TrialUnproven"
    RISE_OVERTOOK = "RiseOvertook"
    BATCH_WAS_LATE = "BatchWasLate"
    PODS_PENDING = "PodsPending"
    EXECUTORS_REFUSED = "ExecutorsRefused"
    TOPIC_NOT_RAISED = "TopicNotRaised"
    REFUSED_BY_DRIVER = "RefusedByDriver"


class BottleneckKind(StrEnum):
    """What limits a pipeline; exactly one at a time."""

    SOURCE_PARTITIONS = "SourcePartitions"
    CPU = "Cpu"
    CONCURRENCY = "Concurrency"
    REMOTE_RATE = "RemoteRate"
    MEMORY = "Memory"
    STATE_COMMIT = "StateCommit"
    SINK = "Sink"
    SKEW = "Skew"
    BATCH_OVERHEAD = "BatchOverhead"
    ADMISSION_LIMIT = "AdmissionLimit"
    DRIVER_PLANNING = "DriverPlanning"
    LOCALITY = "Locality"
    FETCH = "Fetch"
    NONE = "None"


class Regime(StrEnum):
    """Where the load is, relative to the bounds; only Over and Under move anything."""

    UNKNOWN = "Unknown"
    WITHIN = "Within"
    OVER = "Over"
    UNDER = "Under"
    CATCHING_UP = "CatchingUp"

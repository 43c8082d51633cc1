"""A pipeline's conditions, from what was planned, observed and decided. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from trimtab.api.common import Condition, get_condition, set_condition, timestamp
from trimtab.api.quantities import counted, format_duration
from trimtab.api.reasons import Reason
from trimtab.api.v1alpha1.runs import RUN_ANNOTATION, RunPhase, RunStatus
from trimtab.api.v1alpha1.status import ConditionType as Type
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.reconcile.observe.driver_pod import DriverPod
from trimtab.reconcile.observe.executor_pods import Cause
from trimtab.reconcile.observe.gather import DriverMetrics
from trimtab.reconcile.observe.signals import Missing
from trimtab.settings import FREE, Pricing
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.decision import Decision
from trimtab.tuning.governance.governed import SetBy
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Signals, Snapshot, observed_latency
from trimtab.tuning.spent import NOTHING, Size


@dataclass(frozen=True, slots=True)
class Verdict:
    """Status, reason and message of one condition."""

    status: bool | None
    reason: str
    message: str = ""


NO_DRIVER = DriverPod()
NO_MEMORY = ControllerState(
    generation=0, settings=Settings(executors=0, trigger_s=0.0, max_offsets=0)
)


@dataclass(frozen=True, slots=True)
class Situation:
    """The input for one pipeline's status and conditions in one tick."""

    generation: int
    """metadata.generation of the object."""
    now_s: float
    policy: Policy | None
    """None if the spec is invalid."""
    suspended: bool = False
    run: RunStatus | None = None
    """The present run, or the wait for the next; None if it runs all the time."""
    obstacle: tuple[str, str] | None = None
    waiting: tuple[str, str] | None = None
    driver: DriverPod = NO_DRIVER
    extra_drivers: tuple[str, ...] = ()
    inputs: str = ""
    metrics: DriverMetrics | None = None
    missing: Missing | None = None
    missing_executors: Cause | None = None
    """Why fewer executors run than the settings ask for; None if they run, or just start."""
    snapshot: Snapshot | None = None
    decision: Decision | None = None
    memory: ControllerState = NO_MEMORY
    """The memory after the tick: the driver should run its settings."""
    set_by: tuple[SetBy, ...] = ()
    """The values that policies set."""
    pace_s: tuple[float, float] = (0.0, 0.0)
    """Seconds between two samples, and between two decisions."""
    indirect: str = ""
    """Why the driver was not read directly although it was to be; empty otherwise."""
    executor: Size = NOTHING
    """What one executor reserves."""
    pricing: Pricing = FREE


def conditions(
    old: tuple[Condition, ...], situation: Situation, *, fresh: bool = True
) -> tuple[Condition, ...]:
    """All declared conditions, in order; a transition time changes only with the status.

    Unless fresh, a message of which only numbers have changed stays.
    """
    for type_, verdict in _verdicts(situation).items():
        known = get_condition(old, type_)
        message = verdict.message[:1024]
        if known and not fresh and type_ in _NUMBERS and _same(known, verdict):
            message = known.message
        condition = Condition(
            type=type_,
            status=_STATUS[verdict.status],
            reason=verdict.reason,
            message=message,
            observed_generation=situation.generation,
            last_transition_time=timestamp(situation.now_s),
        )
        old = set_condition(old, condition)
    return old


_STATUS: dict[bool | None, Literal["True", "False", "Unknown"]] = {
    True: "True", False: "False", None: "Unknown",
}  # fmt: skip
_NUMBERS = {
    Type.TUNING, Type.GOAL_MET, Type.METRICS_AVAILABLE, Type.SATURATED, Type.RECORDS_EXPIRING,
}  # fmt: skip
"""Conditions whose messages contain measured numbers, which alone are no reason to write."""


def _same(known: Condition, verdict: Verdict) -> bool:
    """Whether a message says the same: why there are no metrics is news, a number in it is not."""
    alike = (known.status, known.reason) == (_STATUS[verdict.status], verdict.reason)
    old, new = (re.sub("[0-9]+", "0", text[:1024]) for text in (known.message, verdict.message))
    return alike and (old == new or verdict.reason != Reason.NO_METRICS)


def _verdicts(situation: Situation) -> dict[Type, Verdict]:
    stalled = _stalled(situation)
    ready = _ready(situation, stalled)
    return {
        Type.READY: ready,
        Type.RECONCILING: _reconciling(situation, ready, stalled),
        Type.STALLED: stalled,
        Type.GOAL_MET: _goal_met(situation),
        Type.METRICS_AVAILABLE: _metrics(situation),
        Type.TUNING: _tuning(situation),
        Type.SATURATED: _saturated(situation),
        Type.EXECUTORS_MISSING: _executors_missing(situation),
        Type.SUSPENDED: _suspended(situation),
        Type.RECORDS_EXPIRING: _expiring(situation),
    }


def _stalled(situation: Situation) -> Verdict:
    failure = situation.obstacle or situation.driver.failure
    if failure:
        return Verdict(True, failure[0], failure[1])
    signals = situation.snapshot.signals if situation.snapshot else None
    if signals and signals.beyond_end:
        return Verdict(True, "PositionBeyondEnd", _beyond_end(signals.beyond_end))
    return Verdict(False, "NotStalled")


def _beyond_end(count: int) -> str:
    return (
        f"the query's position in {counted(count, 'partition')} of the source is beyond the end:"
        " the topic was deleted and created again, or Kafka lost its newest records. New records"
        " are skipped until the end has passed the position: raise checkpoint.generation"
    )


def _ready(situation: Situation, stalled: Verdict) -> Verdict:
    driver = situation.driver
    if situation.suspended:
        return replace(_suspended(situation), status=False)
    if stalled.status:
        return Verdict(False, stalled.reason, stalled.message)
    if situation.extra_drivers:
        words = (
            f"{', '.join(situation.extra_drivers)} exists beside the driver, on the same"
            " checkpoint: trimtab scales the StatefulSet back to one and waits until it is gone"
        )
        return Verdict(False, "ExtraDriver", words)
    if not driver.exists and situation.waiting:
        return Verdict(False, situation.waiting[0], situation.waiting[1])
    if not driver.exists:
        return Verdict(False, "DriverMissing", "the driver's pod does not exist yet")
    if driver.terminating or driver.inputs != situation.inputs:
        return Verdict(False, "DriverRestarting", "the driver restarts with the new settings")
    missing = situation.missing_executors
    if missing and not _executors(situation):
        return Verdict(False, missing.reason, missing.message)
    if not driver.ready:
        return Verdict(False, "DriverStarting", "the query has not started yet")
    return Verdict(True, "QueryRunning", "the query runs with the requested settings")


def _suspended(situation: Situation) -> Verdict:
    """Whether nothing runs on purpose, and why."""
    run = situation.run
    if not situation.suspended:
        return Verdict(False, "Active")
    if run is None or run.phase is RunPhase.RUNNING:
        return Verdict(True, "Suspended", "spec.suspend is true")
    last = f"the last run ended at {run.since}: {run.end}" if run.end else "no run so far"
    if run.phase is RunPhase.WAITING:
        return Verdict(True, "BetweenRuns", f"{last}; the next starts at {run.next}")
    return Verdict(True, "RunEnded", f"{last}; a new value of {RUN_ANNOTATION} starts another")


def _expiring(situation: Situation) -> Verdict:
    signals = situation.snapshot.signals if situation.snapshot else None
    if signals is None or signals.expires_s is None or signals.kept_s is None:
        return Verdict(None, "Unknown", "nothing waits, or it is not known how long Kafka keeps it")
    if not signals.expiring:
        return Verdict(False, "NotExpiring")
    left, kept = (format_duration(round(each)) for each in (signals.expires_s, signals.kept_s))
    words = (
        f"Kafka deletes the first unread record in {left}, and keeps records for {kept}: raise the"
        " executors' limits or the topic's retention. Windows of policies are ignored meanwhile"
    )
    return Verdict(True, "RetentionNear", words)


def _executors(situation: Situation) -> int:
    """Executors that are known to run."""
    signals = situation.snapshot.signals if situation.snapshot else None
    return (signals.executors_running or 0) if signals else 0


def _executors_missing(situation: Situation) -> Verdict:
    missing = situation.missing_executors
    if missing is None:
        return Verdict(False, "NoneMissing")
    return Verdict(True, missing.reason, missing.message)


def _reconciling(situation: Situation, ready: Verdict, stalled: Verdict) -> Verdict:
    """Whether the pipeline is on its way to a running query or to the newest settings."""
    if stalled.status or situation.suspended:
        return Verdict(False, "Settled")
    if not ready.status:
        return Verdict(True, "Progressing")
    signals = situation.snapshot.signals if situation.snapshot else None
    if signals and signals.settings_generation < situation.memory.generation:
        words = f"the driver does not run settings generation {situation.memory.generation} yet"
        return Verdict(True, "ApplyingSettings", words)
    return Verdict(False, "Settled")


def _goal_met(situation: Situation) -> Verdict:
    snapshot = situation.snapshot
    signals = snapshot.signals if snapshot else None
    if snapshot is None or signals is None:
        return Verdict(None, "Unknown", "no metrics are known yet")
    policy = snapshot.policy
    if policy.target_s is not None:
        return _latency_met(situation, signals, policy, policy.target_s)
    if signals.batch is None:
        return Verdict(None, "Unknown", "no batch is known yet")
    load = situation.decision.load if situation.decision else None
    if load is None:
        return Verdict(None, "Unknown", "the load is not known yet")
    met = load.capacity <= 1.0
    return Verdict(met, "GoalMet" if met else "RateBelowDemand", f"load {load.capacity:.2f}")


def _latency_met(
    situation: Situation, signals: Signals, policy: Policy, target_s: float
) -> Verdict:
    seen = observed_latency(signals, policy.quantile)
    if seen is None:
        why = "the last batch had no records" if signals.batch else "no batch is known yet"
        return Verdict(None, "Unknown", why)
    worst_s = max(seen.seconds, _worst_latency_s(situation, policy))
    met = worst_s <= target_s
    text = f"{seen.words}, at most {worst_s:.1f} s in the last minute, goal {target_s:g} s"
    return Verdict(met, "GoalMet" if met else "LatencyAboveTarget", text)


def _worst_latency_s(situation: Situation, policy: Policy) -> float:
    """The worst batch of the last minute: a percentile that hovers at the target is not met.

    Prometheus remembers it, so a restarted operator says the same and stores nothing.
    """
    seen, worst = situation.metrics, "worst_wait" if policy.by_broker else "worst_latency"
    worst_s = seen.number(worst, f"{policy.quantile:g}") if seen else None
    return 0.0 if worst_s is None else worst_s


def _metrics(situation: Situation) -> Verdict:
    snapshot = situation.snapshot
    if snapshot and snapshot.signals:
        if situation.indirect:
            return Verdict(True, "FreshFromPrometheus", situation.indirect)
        return Verdict(True, "Fresh")
    if snapshot is None or situation.missing is None:
        return Verdict(False, Reason.NO_METRICS, "the driver is not running yet")
    return Verdict(False, situation.missing.reason, situation.missing.words)


def _tuning(situation: Situation) -> Verdict:
    snapshot, decision = situation.snapshot, situation.decision
    if snapshot is None or decision is None:
        return Verdict(False, "NotRunning")
    if decision.reason in {Reason.NO_METRICS, Reason.METRICS_STALE}:
        return Verdict(False, decision.reason, decision.message)
    active = snapshot.policy.mode is Mode.AUTO
    return Verdict(active, decision.reason, decision.message)


def _saturated(situation: Situation) -> Verdict:
    decision = situation.decision
    if decision and decision.reason in {Reason.SATURATED, Reason.GOAL_INFEASIBLE}:
        return Verdict(True, decision.reason, decision.message)
    return Verdict(False, "NotSaturated")

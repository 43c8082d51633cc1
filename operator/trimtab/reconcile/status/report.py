"""A pipeline's status, from the old one and this tick: what kubectl shows. Pure.

Measured values alone rarely cause a write: they have two digits, and are replaced only when they
leave a band or something else is written anyway. A quiet pipeline is not written at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from trimtab.api.common import timestamp
from trimtab.api.knobs import KNOBS, KnobValues
from trimtab.api.quantities import format_duration, parse_duration
from trimtab.api.v1alpha1.status import (
    MAX_DECISIONS,
    MAX_POLICY_VALUES,
    BottleneckStatus,
    DecisionRecord,
    ExecutorsStatus,
    FlowStatus,
    GoalStatus,
    LagStatus,
    LedgerStatus,
    PaceStatus,
    PolicyValue,
    StreamPipelineStatus,
)
from trimtab.reconcile.observe.gather import DriverMetrics
from trimtab.reconcile.status.conditions import Situation, conditions
from trimtab.reconcile.status.cost import cost
from trimtab.reconcile.status.news import news
from trimtab.reconcile.status.recommendation import recommendation, record
from trimtab.tuning.capacity.load import in_flight_s
from trimtab.tuning.decision import Decision
from trimtab.tuning.diagnosis import flow
from trimtab.tuning.diagnosis.executors import executor_case
from trimtab.tuning.policy import Policy
from trimtab.tuning.snapshot import Signals, Snapshot, observed_latency

_PER_S = "/s"

MOVED = 1 / 3
"""How far the goal's observed value must move to be written again, as a share of the larger one."""

IN_BATCHES = "micro-batches: the transform keeps state or runs Python; the driver's log has more"


def status(old: StreamPipelineStatus, situation: Situation) -> StreamPipelineStatus:
    """The new status; if anything else is to be written, it includes the newest numbers."""
    calm = _status(old, situation, fresh=False)
    return _status(old, situation, fresh=True) if differ(calm, old) else calm


def differ(new: StreamPipelineStatus, old: StreamPipelineStatus) -> bool:
    """Whether writing the new status would change what the API server holds."""
    return bool(_kept(plain(new)) != _kept(plain(old)))


def plain(new: StreamPipelineStatus) -> dict[str, Any]:
    """The status as the API writes it, without the fields that are None."""
    return new.model_dump(mode="json", by_alias=True)


def merge_patch(old: StreamPipelineStatus, new: StreamPipelineStatus) -> dict[str, Any]:
    """The JSON merge patch (RFC 7386) to the new status: None removes a field.

    The memory is all ours, so fields that it no longer has are removed; elsewhere, fields that
    this operator does not know stay.
    """
    patch = plain(new)
    return patch | {"controller": _over(old.controller, patch["controller"])}


def _over(old: Any, new: Any) -> Any:
    """The new value with None for every field that only the old one has."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    merged = {key: _over(old.get(key), value) for key, value in new.items()}
    return dict.fromkeys(old.keys() - new.keys()) | merged


def _kept(node: Any) -> Any:
    """What the API server keeps of a merge patch: everything that is not None."""
    if isinstance(node, dict):
        return {k: _kept(v) for k, v in node.items() if v is not None}
    return [_kept(v) for v in node] if isinstance(node, list) else node


def _status(
    old: StreamPipelineStatus, situation: Situation, *, fresh: bool
) -> StreamPipelineStatus:
    """The new status; unless fresh, numbers that moved little keep their shown values."""
    decision, snapshot, now_s = situation.decision, situation.snapshot, situation.now_s
    memory, advice = situation.memory, situation.memory.advice
    standing = memory.recommendation
    signals = snapshot.signals if snapshot else None
    return StreamPipelineStatus(
        observed_generation=situation.generation,
        conditions=conditions(old.conditions, situation, fresh=fresh),
        mode=situation.policy.mode if situation.policy else old.mode,
        load=_load(old.load, decision, fresh=fresh),
        cores=_cores(situation),
        cost=cost(situation) if fresh or old.cost is None else old.cost,
        goal=_goal(old.goal, situation.policy, signals, fresh=fresh),
        execution=_execution(old.execution, situation.policy, signals),
        run=situation.run,
        lag=_lag(old.lag, snapshot, fresh=fresh),
        partitions=(signals.partitions if signals else None) or old.partitions,
        partitions_advice=advice.partitions,
        oversize=advice.oversize,
        pace=PaceStatus(
            scrape=format_duration(situation.pace_s[0]), tick=format_duration(situation.pace_s[1])
        ),
        bottleneck=_bottleneck(old.bottleneck, decision),
        flow=_flow(old.flow, snapshot, fresh=fresh),
        ledger=_ledger(old.ledger, situation.metrics, fresh=fresh),
        executors=_executors(old.executors, signals, fresh=fresh),
        jvm=advice.jvm,
        policies=tuple(
            PolicyValue(field=each.field, value=each.value[:128], policy=each.policy)
            for each in situation.set_by[:MAX_POLICY_VALUES]
        ),
        effective=_effective(situation.metrics) or old.effective,
        recommended=standing.settings.knob_values() if standing else None,
        recommendation=recommendation(situation),
        advice_record=record(memory),
        decisions=_decisions(old.decisions, decision, memory.generation, now_s),
        controller=memory.to_dict(),
    )


def _execution(old: str | None, policy: Policy | None, signals: Signals | None) -> str | None:
    if policy is None or policy.execution == "microBatch":
        return None
    if policy.why_batches:
        return f"micro-batches: {policy.why_batches}"
    if signals is None or signals.real_time is None:
        return old
    return "real time" if signals.real_time else IN_BATCHES


def _load(old: str | None, decision: Decision | None, *, fresh: bool) -> str | None:
    if decision is None or decision.load is None or not (fresh or old is None):
        return old
    return f"{decision.load.value:.2f}"


def _cores(situation: Situation) -> int | None:
    policy, settings = situation.policy, situation.memory.in_force
    if policy is None or situation.suspended:
        return None if policy is None else 0
    return policy.executor_cores(settings)


def _goal(
    old: GoalStatus | None, policy: Policy | None, signals: Signals | None, *, fresh: bool
) -> GoalStatus | None:
    if policy is None:
        return old
    shown, rate_goal = old.observed if old else None, policy.target_s is None
    if shown is not None and shown.endswith(_PER_S) != rate_goal:
        shown = None  # the goal was of another kind
    seen = _observed(signals, policy) if signals else None
    if seen is not None and (fresh or shown is None or _moved(_number_in(shown), seen)):
        number = two_digits(seen)
        shown = f"{number:g}{_PER_S}" if rate_goal else format_duration(number)
    return GoalStatus(target=policy.goal_text(), observed=shown)


def _observed(signals: Signals, policy: Policy) -> float | None:
    """What is held against the goal: records/s of input, or seconds of latency."""
    if policy.target_s is None:
        return signals.input_rate_long
    latency = observed_latency(signals, policy.quantile)
    return latency.seconds if latency else None


def _number_in(shown: str) -> float:
    """The rate or the seconds in a shown value."""
    return float(shown[: -len(_PER_S)]) if shown.endswith(_PER_S) else parse_duration(shown)


def _lag(old: LagStatus | None, snapshot: Snapshot | None, *, fresh: bool) -> LagStatus | None:
    """The lag varies with every batch: what is in flight anyway is no news."""
    signals = snapshot.signals if snapshot else None
    if snapshot is None or signals is None or signals.lag_records is None:
        return old
    trigger_s, batch = snapshot.settings.trigger_s, signals.batch
    flight_s = in_flight_s(trigger_s, batch.duration_s if batch else 0.0)
    flight = flight_s * (signals.input_rate_long or 0.0)
    if old and old.records is not None and not fresh:
        moved = _left(old.records, signals.lag_records, flight)
        if old.time and signals.lag_s is not None:
            moved = moved or _left(parse_duration(old.time), signals.lag_s, flight_s)
        if not moved:
            return old
    time = None if signals.lag_s is None else format_duration(two_digits(signals.lag_s))
    return LagStatus(
        records=round(two_digits(signals.lag_records)), time=time, most_in=signals.waits_in
    )


def _bottleneck(old: BottleneckStatus | None, decision: Decision | None) -> BottleneckStatus | None:
    if decision is None or decision.load is None:
        return old
    kind, evidence = decision.bottleneck.kind, decision.bottleneck.evidence
    if old and old.kind == kind:
        return old
    return BottleneckStatus(kind=kind, evidence=evidence[:512])


def _flow(old: FlowStatus | None, snapshot: Snapshot | None, *, fresh: bool) -> FlowStatus | None:
    """Its numbers always vary: only another state is news."""
    if snapshot is None or snapshot.signals is None:
        return old
    found = flow.check(snapshot.signals, snapshot.settings.trigger_s)
    if found is None or (old and old.state == found.state and not fresh):
        return old
    return FlowStatus(state=found.state, evidence=found.evidence)


def _ledger(
    old: LedgerStatus | None, seen: DriverMetrics | None, *, fresh: bool
) -> LedgerStatus | None:
    """Skipped and late records may grow with each batch: only twice as many are news."""
    if seen is None:
        return old
    mismatches, missing = seen.whole("ledger_mismatch_total"), seen.whole("missing_records")
    skipped, late = seen.whole("skipped_records_total"), seen.whole("late_records_total")
    if {mismatches, missing, skipped, late} == {None}:
        return old
    if old and not fresh:
        skipped, late = _grown(old.skipped, skipped), _grown(old.late, late)
    return LedgerStatus(mismatches=mismatches, missing=missing, skipped=skipped, late=late)


def _grown(old: int | None, now: int | None) -> int | None:
    """The new count if it is at least twice the old one, or began anew."""
    if old is None or now is None or now < old or now >= 2 * max(old, 1) or old == 0 < now:
        return now
    return old


def _executors(
    old: ExecutorsStatus | None, signals: Signals | None, *, fresh: bool
) -> ExecutorsStatus | None:
    """Both measures always vary: only another case is news."""
    case = executor_case(signals) if signals else None
    if case is None or (old and old.case == case.name and not fresh):
        return old
    return ExecutorsStatus(load=f"{case.load:.2f}", capacity=f"{case.capacity:.2f}", case=case.name)


def _effective(seen: DriverMetrics | None) -> KnobValues | None:
    if seen is None:
        return None
    values = {name: seen.number("effective_number", name) for name in KNOBS}
    known = {name: value for name, value in values.items() if value is not None}
    return KnobValues.of(known) if known else None


def _knobs(fixed: Mapping[str, float]) -> dict[str, Any] | None:
    """Knobs for the status; unset ones are None, so that a merge patch removes them."""
    return KnobValues.of(fixed).model_dump(mode="json", by_alias=True) if fixed else None


def _decisions(
    old: tuple[DecisionRecord, ...], decision: Decision | None, generation: int, now_s: float
) -> tuple[DecisionRecord, ...]:
    return (*old, *(_record(d, generation, now_s) for d in news(old, decision)))[-MAX_DECISIONS:]


def _record(decision: Decision, generation: int, now_s: float) -> DecisionRecord:
    return DecisionRecord(
        time=timestamp(now_s),
        action=decision.action,
        reason=decision.reason,
        message=decision.message[:1024],
        generation=generation,
        changes=list(decision.changes),
    )


def two_digits(value: float) -> float:
    """The value to two significant digits."""
    if value == 0 or not math.isfinite(value):
        return 0.0
    return round(value, 1 - math.floor(math.log10(abs(value))))


def _moved(before: float, now: float) -> bool:
    return abs(now - before) > MOVED * max(abs(before), abs(now))


def _left(before: float, now: float, width: float) -> bool:
    """Whether a number left its band: by more than a factor of 2 and more than `width`."""
    return abs(now - before) > max(max(before, now) / 2, width)

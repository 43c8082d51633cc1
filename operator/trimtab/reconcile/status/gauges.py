"""What the operator's metrics say of one pipeline after a tick. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.api.knobs import KnobValues
from trimtab.api.reasons import BottleneckKind
from trimtab.api.v1alpha1.status import ConditionType as Type
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.ports import Reading
from trimtab.reconcile.status.conditions import Situation
from trimtab.reconcile.status.cost import cost_readings
from trimtab.tuning import regime
from trimtab.tuning.policy import Policy
from trimtab.tuning.snapshot import Signals, observed_latency

WANTED = {Type.READY, Type.GOAL_MET, Type.METRICS_AVAILABLE, Type.TUNING}
"""Conditions that should be True; the others should be False."""


def gauges(
    status: StreamPipelineStatus, situation: Situation, executor_bytes: int
) -> tuple[Reading, ...]:
    """All that is known; `executor_bytes` is the memory of one executor."""
    policy, snapshot = situation.policy, situation.snapshot
    found = [
        *_conditions(status),
        *_settings(status, situation, executor_bytes),
        *_advice(situation),
        *cost_readings(situation),
    ]
    if policy is not None:
        found += _goal(policy, snapshot.signals if snapshot else None)
        found += _bounds(policy, situation)
    decision = situation.decision
    if decision and decision.load:
        found.append(Reading("load_ratio", decision.load.value))
    if decision and decision.bottleneck.kind is not BottleneckKind.NONE:
        found.append(Reading("bottleneck_info", 1.0, {"kind": decision.bottleneck.kind}))
    return tuple(found)


def _goal(policy: Policy, signals: Signals | None) -> Iterator[Reading]:
    yield Reading("mode_info", 1.0, {"mode": policy.mode})
    if policy.target_s is not None:
        yield Reading("goal_seconds", policy.target_s)
    if policy.rate is not None:
        yield Reading("goal_records_per_second", policy.rate)
    if signals is None:
        return
    seen = observed_latency(signals, policy.quantile)
    if seen is not None:
        yield Reading("observed_seconds", seen.seconds)
    if signals.input_rate_long is not None:
        yield Reading("observed_records_per_second", signals.input_rate_long)
    if signals.lag_s is not None:
        yield Reading("lag_seconds", signals.lag_s)
    if signals.expires_s is not None:
        yield Reading("retention_deadline_seconds", signals.expires_s)


def _bounds(policy: Policy, situation: Situation) -> Iterator[Reading]:
    band = regime.band(policy, situation.memory, situation.now_s)
    yield Reading("load_bound_ratio", band.lower, {"bound": "lower"})
    yield Reading("load_bound_ratio", band.higher, {"bound": "higher"})


def _conditions(status: StreamPipelineStatus) -> Iterator[Reading]:
    for each in status.conditions:
        if each.status != "Unknown":
            yield Reading("condition", float(each.status == "True"), {"type": each.type})
        good = each.status == ("True" if each.type in WANTED else "False")
        if not good:
            yield Reading("reason_info", 1.0, {"type": each.type, "reason": each.reason})


def _settings(
    status: StreamPipelineStatus, situation: Situation, executor_bytes: int
) -> Iterator[Reading]:
    memory, policy = situation.memory, situation.policy
    yield Reading("regime_info", 1.0, {"regime": memory.regime})
    yield Reading("trial_open", float(memory.trial is not None))
    yield from _knobs("effective", status.effective)
    for each in status.policies:
        labels = {"policy": each.policy, "field": each.field, "value": each.value}
        yield Reading("policy_info", 1.0, labels)
    if policy is not None and not situation.suspended:
        settings = memory.in_force
        yield Reading("executor_cores", float(policy.executor_cores(settings)))
        yield Reading("executor_memory_bytes", float(settings.executors * executor_bytes))


def _advice(situation: Situation) -> Iterator[Reading]:
    standing, record = situation.memory.recommendation, situation.memory.advice_record
    if standing is not None:
        yield Reading("recommendation_generation", float(standing.generation))
        yield Reading("recommendation_load_ratio", standing.predicted)
        yield from _knobs("recommended", standing.settings.knob_values())
    yield Reading("advice_given", float(record.given))
    yield Reading("advice_asked", float(record.asked))
    yield Reading("advice_held", float(record.held_advised), {"by": "advised"})
    yield Reading("advice_held", float(record.held_as_run), {"by": "run"})


def _knobs(name: str, values: KnobValues | None) -> Iterator[Reading]:
    for knob, value in (values.numbers() if values else {}).items():
        yield Reading(name, value, {"knob": knob})

"""What a tick adds to a pipeline's history. Pure."""

from __future__ import annotations

from trimtab.api.common import timestamp
from trimtab.api.history import HISTORY_KEY, NEWEST_KEY, Entry, Numbers, name_of, unpacked
from trimtab.api.v1alpha1.status import DecisionRecord, StreamPipelineStatus
from trimtab.ports import Manifest
from trimtab.reconcile.status.conditions import Situation
from trimtab.tuning.snapshot import observed_latency

DIGITS = 4
"""Significant digits of a measured number."""


def added(
    live: Manifest | None, new: StreamPipelineStatus, situation: Situation
) -> tuple[Entry, ...]:
    """The entries to add to the history in a live ConfigMap.

    The status is written first, so a decision that it has and the history has not was made before
    the operator ended: it is added without its numbers.
    """
    newest = ((live or {}).get("data") or {}).get(NEWEST_KEY)
    if not new.decisions or newest == name_of(new.decisions[-1]):
        return ()
    kept = {name_of(entry) for entry in entries(live)}
    return tuple(_entry(each, situation) for each in new.decisions if name_of(each) not in kept)


def entries(live: Manifest | None) -> tuple[Entry, ...]:
    """The decisions so far; a history that somebody has spoilt begins anew."""
    try:
        return unpacked(live["binaryData"][HISTORY_KEY]) if live else ()
    except (KeyError, TypeError, ValueError):
        return ()


def _entry(record: DecisionRecord, situation: Situation) -> Entry:
    """A record of the status as an entry; only those of this tick have its numbers."""
    told = record.model_dump()
    policy, memory = situation.policy, situation.memory
    if policy is None or record.time != timestamp(situation.now_s):
        return Entry(**told)
    settings = memory.in_force
    return Entry(
        **told,
        goal=policy.goal_text(),
        mode=policy.mode,
        settings=settings.numbers(),
        cores=policy.executor_cores(settings),
        numbers=_numbers(situation),
    )


def _numbers(situation: Situation) -> Numbers:
    decision, snapshot, policy = situation.decision, situation.snapshot, situation.policy
    signals = snapshot.signals if snapshot else None
    load = decision.load if decision else None
    observed = None
    if signals and policy:
        latency = observed_latency(signals, policy.quantile)
        held = latency.seconds if latency else None
        observed = signals.input_rate_long if policy.target_s is None else held
    batch = signals.batch if signals else None
    bottleneck = decision.bottleneck if decision and load else None
    return Numbers(
        load=_short(load.value if load else None),
        capacity_load=_short(load.capacity if load else None),
        latency_load=_short(load.latency if load else None),
        input_rate=_short(load.seen_rate if load else None),
        observed=_short(observed),
        lag_records=_short(signals.lag_records if signals else None),
        lag_s=_short(signals.lag_s if signals else None),
        batch_s=_short(batch.duration_s if batch else None),
        bottleneck=bottleneck.kind if bottleneck else None,
        evidence=bottleneck.evidence if bottleneck else None,
    )


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")

"""The First Rule of dataflow tuning (docs/seeds.md): every stage is always ready for records, and
every processed record is promptly delivered. If both hold, there is nothing to tune.

The stages are the source, the task slots, and delivery: the sink and the commit of state. A slot
is *starved* while it idles although records wait at the source; it is *blocked* while the records
it has processed wait for delivery.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from trimtab.tuning.capacity.load import in_flight_s, input_rate_of
from trimtab.tuning.snapshot import Batch, Signals

IDLE = 0.5
"""Slots that work less than this share of their time are idle: they could do twice as much."""

DELIVERING = 0.5
"""Share of a batch in delivery from which records wait for it. A half, as for the bottleneck:
writing overlaps the tasks' work, so its share is an upper bound."""


class State(StrEnum):
    """Whether the rule holds, and if not, which half is broken."""

    FLOWING = "Flowing"
    STARVED = "Starved"
    BLOCKED = "Blocked"


@dataclass(frozen=True, slots=True)
class Flow:
    """The rule's state, with the evidence."""

    state: State
    evidence: str


def check(signals: Signals, trigger_s: float) -> Flow | None:
    """Whether the pipeline obeys the rule; None while the figures are unknown."""
    input_rate, busy = input_rate_of(signals), _busy(signals)
    if signals.batch is None or signals.lag_records is None or input_rate is None or busy is None:
        return None
    if blocked := _delivery(signals.batch):
        return Flow(State.BLOCKED, blocked)
    duration_s = signals.batch.duration_s
    # records in flight are not waiting, and neither is one batch beyond them
    free_s = in_flight_s(trigger_s, duration_s) + max(trigger_s, duration_s)
    if busy < IDLE and signals.lag_records > input_rate * free_s:
        waiting = f"{signals.lag_records:.0f} records wait at the source"
        return Flow(State.STARVED, f"{waiting}, but the slots work {busy:.0%} of their time")
    return Flow(State.FLOWING, "nothing waits while slots idle, and nothing waits for delivery")


def _busy(signals: Signals) -> float | None:
    """Share of their time in which the slots work: over a minute, or else in the last sample."""
    known = signals.executor_capacity
    return signals.slots_busy if known is None else known


def _delivery(batch: Batch) -> str:
    """Why delivery blocks: writing and state commits take too much of a batch; else empty."""
    parts = {"writing": batch.sink_s, "the commit of state": batch.state_s}
    known = {name: seconds for name, seconds in parts.items() if seconds}
    if sum(known.values()) < DELIVERING * batch.duration_s or not known:
        return ""
    told = " and ".join(f"{name} {seconds:.1f} s" for name, seconds in known.items())
    return f"processed records wait: {told} of a batch of {batch.duration_s:.1f} s"

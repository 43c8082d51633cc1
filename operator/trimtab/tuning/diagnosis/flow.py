"""The First Rule of dataflow tuning (docs/seeds.md): every stage is always ready for records, and
every processed record is promptly delivered. Where both hold there is nothing to tune.

The stages are the source, the task slots, and what delivers: the sink and the commit of state. A
slot is *starved* while it idles though records wait at the source; it is *blocked* while what it
has processed waits for its delivery.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from trimtab.tuning.capacity.load import in_flight_s, input_rate_of
from trimtab.tuning.snapshot import Batch, Signals

IDLE = 0.5
"""Below this share of their time the slots idle: they could take twice as much."""

DELIVERING = 0.5
"""Share of a batch in delivery from which on it is what records wait for. A half, as for the
bottleneck: writing goes on while the tasks work, so its share is an upper bound."""


class State(StrEnum):
    """Whether the rule holds, and which half of it does not."""

    FLOWING = "Flowing"
    STARVED = "Starved"
    BLOCKED = "Blocked"


@dataclass(frozen=True, slots=True)
class Flow:
    """The rule's state, and how it was seen."""

    state: State
    evidence: str


def check(signals: Signals, trigger_s: float) -> Flow | None:
    """Whether the pipeline obeys the rule; None while what tells it is unknown."""
    input_rate, busy = input_rate_of(signals), _busy(signals)
    if signals.batch is None or signals.lag_records is None or input_rate is None or busy is None:
        return None
    if blocked := _delivery(signals.batch):
        return Flow(State.BLOCKED, blocked)
    duration_s = signals.batch.duration_s
    # what is in flight anyway does not wait, nor does a batch beyond it
    free_s = in_flight_s(trigger_s, duration_s) + max(trigger_s, duration_s)
    if busy < IDLE and signals.lag_records > input_rate * free_s:
        waiting = f"{signals.lag_records:.0f} records wait at the source"
        return Flow(State.STARVED, f"{waiting}, but the slots work {busy:.0%} of their time")
    return Flow(State.FLOWING, "nothing waits beside idle slots, nor for its delivery")


def _busy(signals: Signals) -> float | None:
    """Share of their time in which the slots work: over a minute, or else at the last sample."""
    known = signals.executor_capacity
    return signals.slots_busy if known is None else known


def _delivery(batch: Batch) -> str:
    """That writing and the commit of state take too much of a batch; empty where they do not."""
    parts = {"writing": batch.sink_s, "the commit of state": batch.state_s}
    known = {name: seconds for name, seconds in parts.items() if seconds}
    if sum(known.values()) < DELIVERING * batch.duration_s or not known:
        return ""
    told = " and ".join(f"{name} {seconds:.1f} s" for name, seconds in known.items())
    return f"what is processed waits: {told} of a batch of {batch.duration_s:.1f} s"

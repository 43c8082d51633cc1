"""Load and capacity of the executors, after Storm (docs/seeds.md): the four cases.

Load is the share of slots in use or waited for right now; capacity is the share of the last minute
in which the slots worked. They are independent: each of the four cases means something different.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.tuning.snapshot import Signals

HIGH = 0.5
"""Load and capacity are high from this value."""

BUSY, IDLE = 0.8, 0.2
"""The work is uneven if one executor's capacity is at least BUSY and another's at most IDLE."""

CASES = {
    (True, True): (
        "LoadHighCapacityHigh",
        "the executors are overloaded: add executors, or widen the locality scope",
    ),
    (True, False): (
        "LoadHighCapacityLow",
        "tasks wait although the executors worked little: they come in bursts, or wait for a near"
        " executor; a wider locality scope or a longer trigger smooths that out",
    ),
    (False, True): (
        "LoadLowCapacityHigh",
        "the executors work all the time and keep up: nothing waits",
    ),
    (False, False): (
        "LoadLowCapacityLow",
        "the executors have little to do: fewer would be enough",
    ),
}
UNEVEN = (
    "CapacityUneven",
    "some executors are busy and others idle: use fewer executors, change the bounds of the"
    " locality scope, or place executors nearer to the data",
)


@dataclass(frozen=True, slots=True)
class ExecutorCase:
    """Which case the executors are in, and the advice for it."""

    load: float
    capacity: float
    name: str
    advice: str


def executor_case(signals: Signals) -> ExecutorCase | None:
    """The case of the executors; None while a measure is unknown."""
    load, capacity = signals.executor_load, signals.executor_capacity
    if load is None or capacity is None:
        return None
    least, most = signals.capacity_spread or (capacity, capacity)
    uneven = most >= BUSY and least <= IDLE
    name, advice = UNEVEN if uneven else CASES[load >= HIGH, capacity >= HIGH]
    return ExecutorCase(load, capacity, name, advice)

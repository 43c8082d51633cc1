"""Load and capacity of the executors side by side, after Storm (docs/seeds.md): the four cases.

Load is how many slots are in use or waited for right now; capacity is how much of the last minute
the slots worked. They are not related: each of the four cases means something else.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.tuning.snapshot import Signals

HIGH = 0.5
"""Load and capacity are high from here on."""

BUSY, IDLE = 0.8, 0.2
"""Capacities of one executor and another between which the work is uneven."""

CASES = {
    (True, True): (
        "LoadHighCapacityHigh",
        "the executors have more to do than they can: more executors, or a wider locality scope",
    ),
    (True, False): (
        "LoadHighCapacityLow",
        "tasks wait although the executors worked little: they come in bursts, or wait for a near"
        " executor; a wider locality scope or a longer trigger evens that out",
    ),
    (False, True): (
        "LoadLowCapacityHigh",
        "the executors work all the time and keep up: nothing waits",
    ),
    (False, False): (
        "LoadLowCapacityLow",
        "the executors have little to do: fewer would do",
    ),
}
UNEVEN = (
    "CapacityUneven",
    "some executors are busy and others idle: fewer executors, other bounds of the locality scope,"
    " or executors placed nearer to the data",
)


@dataclass(frozen=True, slots=True)
class ExecutorCase:
    """Which case the executors are in, and what that advises."""

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

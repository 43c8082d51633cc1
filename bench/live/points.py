"""The grid, the score of a window, and the choice of the best point. No I/O."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise, product
from typing import Any, Literal

from bench.simreal.seen import Batch, rate

Goal = Literal["latency", "throughput"]

LIMIT = 6_000
"""maxOffsetsPerTrigger under the latency goal: ten seconds of the highest load, so that a point
that is too slow still ends batches."""

TARGET_S = 5.0
"""The latency goal: 95 % of the records of a batch are committed within this time."""
MET = 0.99
"""The share of seconds in which a goal must be met."""


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """Static settings."""

    executors: int
    trigger_s: float
    calls: int
    limit: int = LIMIT
    """maxOffsetsPerTrigger."""

    @property
    def name(self) -> str:
        """Its name in tables."""
        return f"{self.executors} x {self.trigger_s:g} s x {self.calls} x {self.limit:,}"


GRIDS: Mapping[Goal, tuple[Point, ...]] = {
    "latency": tuple(Point(*each) for each in product((2, 1), (2.0, 1.0, 0.5, 0.3), (64, 16, 8))),
    "throughput": tuple(
        Point(*each) for each in product((4,), (1.0,), (256, 64, 16), (320_000, 80_000, 20_000))
    ),
}
"""Where the search begins. Executors, calls and triggers in descending order, so that executors
only leave and no point waits for cold ones. The flood has all executors that the limits allow; a
backlog fills every batch, so its trigger does not matter."""

LADDERS: Mapping[str, Sequence[float]] = {
    "trigger_s": (0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0),
    "calls": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
    "limit": (1_500, 5_000, 20_000, 80_000, 320_000, 1_280_000),
}
"""Values next to those of the grid, for a best point at its edge."""


@dataclass(frozen=True, slots=True)
class Window:
    """What was measured of a pipeline during some seconds under a load."""

    goal: Goal
    point: Point
    repeat: int
    """0 for the grid itself, from 1 for repetitions of its best point."""
    seconds: float
    met: float
    """Share of the seconds in which the latency goal was met."""
    p95_s: float
    """Mean of the batches' 95th percentiles."""
    rate: float
    """Records/s between the first commit and the last."""
    executor_s: float
    batches: int
    saturated: bool
    """Whether the load exceeded what the point can process; then `rate` is its maximum."""
    machine_load: float
    commit: str

    @property
    def holds(self) -> bool:
        """Whether it met the latency goal."""
        return self.met >= MET

    def document(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    @classmethod
    def read(cls, document: dict[str, Any]) -> Window:
        """The inverse of `document`."""
        return cls(**document | {"point": Point(**document["point"])})


def met_share(
    batches: Sequence[Batch], begin_s: float, end_s: float, target_s: float = TARGET_S
) -> float:
    """The share of the seconds from begin to end in which the latency goal was met.

    A batch counts for the seconds since the commit before it; one that is committed after the end
    counts until the end. Seconds after the last known commit are met as long as they could still be
    committed in time.
    """
    met, last_s = 0.0, begin_s
    for batch in batches:
        if last_s < min(batch.committed_s, end_s):
            met += (min(batch.committed_s, end_s) - last_s) * (batch.p95_s <= target_s)
            last_s = batch.committed_s
    open_s = max(0.0, end_s - last_s)
    return (met + open_s * (open_s <= target_s)) / (end_s - begin_s)


def throughput(batches: Sequence[Batch]) -> float:
    """Records/s of a window; 0 if fewer than two batches ended in it."""
    return rate(batches) if len(batches) > 1 else 0.0


def best_latency(windows: Sequence[Window]) -> Window | None:
    """The window with the fewest executor-seconds that meets the goal; latency breaks ties."""
    holding = [w for w in windows if w.goal == "latency" and w.repeat == 0 and w.holds]
    return min(holding, key=lambda w: (round(w.executor_s / w.seconds, 1), w.p95_s), default=None)


def best_throughput(windows: Sequence[Window]) -> Window | None:
    """The window with the most records/s."""
    rates = [w for w in windows if w.goal == "throughput" and w.repeat == 0]
    return max(rates, key=lambda w: w.rate, default=None)


def best(windows: Sequence[Window], goal: Goal) -> Window | None:
    """The best grid point for a goal; None if there is none yet."""
    return (best_latency if goal == "latency" else best_throughput)(windows)


def beyond(windows: Sequence[Window], goal: Goal) -> list[Point]:
    """Points next to the best one that are to be measured before it is known to be the best.

    Empty once worse points lie on both sides of it in each dimension that the grid varies, as far
    as the dimension goes, or if no point meets the goal.
    """
    found = best(windows, goal)
    if found is None:
        return []
    measured = {w.point for w in windows if w.goal == goal and w.repeat == 0}
    return [point for name in LADDERS for point in _next(found.point, name, measured)]


def _next(point: Point, name: str, measured: set[Point]) -> list[Point]:
    """The neighbours of a point in one dimension, on the sides on which none is measured."""
    own = getattr(point, name)
    along = [getattr(m, name) for m in measured if _at(m, name, own) == point]
    if len(along) < 2:
        return []  # not a dimension of this grid
    lower = [v for v in LADDERS[name] if v < own][-1:] if own == min(along) else []
    higher = [v for v in LADDERS[name] if v > own][:1] if own == max(along) else []
    return [_at(point, name, value) for value in (*lower, *higher)]


def _at(point: Point, name: str, value: float) -> Point:
    """A point with another value in one dimension."""
    changed: dict[str, Any] = {name: value}
    return replace(point, **changed)


def spread(figures: Sequence[float]) -> float:
    """Half the range of repeated measurements over their mean, the margin for a tie."""
    if len(figures) < 2:
        return 0.0
    return (max(figures) - min(figures)) / 2 / statistics.fmean(figures)


def executor_seconds(samples: Sequence[tuple[float, float]], begin_s: float, end_s: float) -> float:
    """The integral of executors over time, from samples (second, count) that hold until the next.

    The first sample is assumed to hold from `begin_s`.
    """
    if not samples:
        return 0.0
    steps = [(begin_s, samples[0][1]), *(s for s in samples if begin_s < s[0] < end_s)]
    return sum((later - at) * count for (at, count), (later, _) in pairwise([*steps, (end_s, 0.0)]))

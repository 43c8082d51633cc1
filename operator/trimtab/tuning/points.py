"""Learned batches: few, one for each size and slot count, so that a steady pipeline's memory rests.

What they say of a batch of any size on any slots is the business of `model.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SAME_SIZE = 1.25
"""Two batches whose record counts differ by less than this factor are of one size."""

TOLERANCE = 0.15
"""A point is moved when a new batch differs by more than this share."""

SPREAD = 1.5
"""Record counts, or slots, must differ by this factor before a slope is read from them."""

POINTS_PER_SLOTS = 4
MAX_POINTS = 24

OUT_OF_PROPORTION = 1.2
"""Records that take this factor longer each than in the best smaller batch: overload."""


@dataclass(frozen=True, slots=True)
class Point:
    """One learned batch: its slots, records, seconds outside the work, seconds in all."""

    slots: int
    records: int
    out_s: float
    duration_s: float
    in_flight: int = 0
    """Calls in flight of each slot; 0 where no stage waits for calls."""

    @property
    def slot_seconds(self) -> float:
        """Slot-seconds spent on the work with records."""
        return max(self.duration_s - self.out_s, 1e-3) * self.slots


def learn(points: tuple[Point, ...], new: Point) -> tuple[Point, ...]:
    """The points with a new batch: replaced when its class moved, added when it is of a new one."""
    if new.records <= 0:
        return points
    for index, old in enumerate(points):
        at_once = (old.slots, old.in_flight) == (new.slots, new.in_flight)
        if at_once and same_size(old.records, new.records):
            if abs(new.duration_s - old.duration_s) <= TOLERANCE * old.duration_s:
                return points
            return (*points[:index], *points[index + 1 :], new)
    same = [p for p in points if (p.slots, p.in_flight) == (new.slots, new.in_flight)]
    if len(same) >= POINTS_PER_SLOTS:
        points = tuple(p for p in points if p is not same[0])
    return (*points, new)[-MAX_POINTS:]


def same_size(a: int, b: int) -> bool:
    """Whether two record counts are of one size class."""
    return max(a, b) <= SAME_SIZE * min(a, b)


def knee_of(points: Sequence[Point]) -> int | None:
    """The most records known to lie before the third of the seeds' three regimes, or None.

    The regimes of a batch's time over its size are flat, slow growth and overload (seed 000). In
    the first two a larger batch costs less for each record, since what does not grow is shared; in
    the third it costs more.
    """
    knees = []
    for slots in {p.slots for p in points}:
        group = sorted((p for p in points if p.slots == slots), key=lambda p: p.records)
        for index, large in enumerate(group[1:], start=1):
            best = min(group[:index], key=_each_s)
            larger = large.records >= SPREAD * best.records
            if larger and _each_s(large) > OUT_OF_PROPORTION * _each_s(best):
                knees.append(best.records)
                break
    return min(knees, default=None)


def _each_s(point: Point) -> float:
    return point.duration_s / point.records

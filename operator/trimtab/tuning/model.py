"""The capacity model: how long a batch takes, learned from the pipeline's own batches.

A batch of n records on p slots takes (design section 5, Capacity)

    D(n, p) = out + (A + W(p)·n) / p            p = min(slots, tasks)

with `out` seconds outside the work on records, A slot-seconds of cost that do not grow with n
(chiefly the start of each task), and W(p) slot-seconds a record. From it follow

    o(p) = out + A/p        capacity(p) = p / W(p)        s(p, T) = capacity(p)·max(0, 1 − o(p)/T)

Points are kept sparse (one per size class and slot count), so that a pipeline in steady state
does not change its memory.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

SAME_SIZE = 1.25
"""Two batches whose record counts differ by less than this factor are of one size."""

TOLERANCE = 0.15
"""A point is moved when a new batch differs by more than this share."""

SPREAD = 1.5
"""Record counts, or slots, must differ by this factor before a slope is read from them."""

LEAST_EXPONENT = 0.5
"""Capacity is taken to grow at least as the root of the slots: less is for a trial to show."""

POINTS_PER_SLOTS = 4
MAX_POINTS = 24


@dataclass(frozen=True, slots=True)
class Point:
    """One learned batch: its slots, records, seconds outside the work, seconds in all."""

    slots: int
    records: int
    out_s: float
    duration_s: float

    @property
    def slot_seconds(self) -> float:
        """Slot-seconds spent on the work with records."""
        return max(self.duration_s - self.out_s, 1e-3) * self.slots


@dataclass(frozen=True, slots=True)
class Model:
    """D(n, p) of one pipeline."""

    out_s: float
    fixed: float
    """A: slot-seconds a batch that do not grow with its records."""
    per_record: tuple[tuple[int, float], ...]
    """W(p): slot-seconds a record by slots, ascending."""
    tasks: int

    @property
    def largest(self) -> int:
        """The most slots of a learned point."""
        return self.per_record[-1][0]

    def slowed(self, factor: float) -> Model:
        """The same pipeline with all that its slots do slower by a factor."""
        weights = tuple((slots, weight * factor) for slots, weight in self.per_record)
        return replace(self, fixed=self.fixed * factor, per_record=weights)

    def weight(self, slots: int) -> float:
        """W at a slot count: between learned points linear in capacity, below as nearest.

        Above the largest learned point the capacity follows the power law of `exponent`.
        """
        known = self.per_record
        for (low, w_low), (high, w_high) in itertools.pairwise(known):
            if low <= slots <= high:
                share = (slots - low) / (high - low)
                capacity = (1 - share) * low / w_low + share * high / w_high
                return slots / capacity
        if slots < known[0][0]:
            return known[0][1]
        largest, weight = known[-1]
        return weight * math.pow(slots / largest, 1.0 - self.exponent)

    @property
    def exponent(self) -> float:
        """b of capacity ∝ p^b above the largest learned point; 1 (linear) with only one point.

        Read from that point and the nearest one that has clearly fewer slots: noise in points
        that lie close together would be taken for scaling. The more slots, the more they wait for
        what they share (Amdahl 1967), so that b falls with p; a local b follows that.
        """
        largest, weight = self.per_record[-1]
        fewer = [(p, w) for p, w in self.per_record if SPREAD * p <= largest]
        if not fewer:
            return 1.0
        slots, other = fewer[-1]
        gain = math.log((largest / weight) / (slots / other)) / math.log(largest / slots)
        return min(max(gain, LEAST_EXPONENT), 1.0)

    def slots(self, slots: int) -> int:
        """Slots that can work at once: no more than there are tasks."""
        return max(1, min(slots, self.tasks))

    def overhead_s(self, slots: int) -> float:
        """o(p): seconds of a batch that do not grow with its records."""
        return self.out_s + self.fixed / self.slots(slots)

    def capacity(self, slots: int) -> float:
        """Records/s that p slots work off once a batch is under way."""
        used = self.slots(slots)
        return used / self.weight(used)

    def duration_s(self, records: float, slots: int) -> float:
        """D(n, p) in seconds."""
        return self.overhead_s(slots) + records / self.capacity(slots)

    def sustainable(self, slots: int, trigger_s: float) -> float:
        """s(p, T): the highest rate whose batch still fits its trigger, in records/s."""
        if trigger_s <= 0:
            return self.capacity(slots)
        return self.capacity(slots) * max(0.0, 1.0 - self.overhead_s(slots) / trigger_s)


def learn(points: tuple[Point, ...], new: Point) -> tuple[Point, ...]:
    """The points with a new batch: replaced when its class moved, added when it is of a new one."""
    if new.records <= 0:
        return points
    for index, old in enumerate(points):
        if old.slots == new.slots and _same_size(old.records, new.records):
            if abs(new.duration_s - old.duration_s) <= TOLERANCE * old.duration_s:
                return points
            return (*points[:index], *points[index + 1 :], new)
    same = [p for p in points if p.slots == new.slots]
    if len(same) >= POINTS_PER_SLOTS:
        points = tuple(p for p in points if p is not same[0])
    return (*points, new)[-MAX_POINTS:]


def _same_size(a: int, b: int) -> bool:
    return max(a, b) <= SAME_SIZE * min(a, b)


def fit(points: Sequence[Point], tasks: int) -> Model | None:
    """The model that the points support; None where there are none.

    With batches of clearly different sizes the cost that does not grow (A) is read from the
    slope; before that all of the work is taken to grow with the records, which is right near the
    point and pessimistic above it.
    """
    usable = [p for p in points if p.records > 0]
    if not usable:
        return None
    fixed = _fixed(usable)
    by_slots: dict[int, list[Point]] = {}
    for point in usable:
        by_slots.setdefault(point.slots, []).append(point)
    per_record = tuple((slots, _weight(group, fixed)) for slots, group in sorted(by_slots.items()))
    out_s = sorted(p.out_s for p in usable)[len(usable) // 2]
    return Model(out_s=out_s, fixed=fixed, per_record=per_record, tasks=max(1, tasks))


def _fixed(points: Sequence[Point]) -> float:
    """A in slot-seconds: the median intercept over the slot counts that show a slope."""
    intercepts = []
    for slots in {p.slots for p in points}:
        group = [p for p in points if p.slots == slots]
        if max(p.records for p in group) >= SPREAD * min(p.records for p in group):
            intercepts.append(_intercept(group))
    if not intercepts:
        return 0.0
    smallest = min(p.slot_seconds for p in points)
    middle = sorted(intercepts)[len(intercepts) // 2]
    return min(max(middle, 0.0), 0.95 * smallest)


def _intercept(group: Sequence[Point]) -> float:
    """Intercept of the least-squares line of slot-seconds over records, weighted by 1/n.

    The weight keeps one large catch-up batch from deciding what small batches cost.
    """
    weights = [1 / p.records for p in group]
    total = math.fsum(weights)
    mean_n = math.fsum(w * p.records for w, p in zip(weights, group, strict=True)) / total
    mean_y = math.fsum(w * p.slot_seconds for w, p in zip(weights, group, strict=True)) / total
    spread = math.fsum(w * (p.records - mean_n) ** 2 for w, p in zip(weights, group, strict=True))
    cross = math.fsum(
        w * (p.records - mean_n) * (p.slot_seconds - mean_y)
        for w, p in zip(weights, group, strict=True)
    )
    slope = max(cross / spread, 0.0) if spread > 0 else 0.0
    return mean_y - slope * mean_n


def _weight(group: Sequence[Point], fixed: float) -> float:
    """W in slot-seconds a record, from the largest batch: there it is least mixed with A."""
    largest = max(group, key=lambda p: p.records)
    return max(largest.slot_seconds - fixed, 0.05 * largest.slot_seconds) / largest.records

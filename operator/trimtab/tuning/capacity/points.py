"""Learned batches: few, one per size and slot count, so a steady pipeline's memory is stable.

`model.py` predicts batches of any size on any slots from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

SAME_SIZE = 1.25
"""Two batches whose record counts differ by less than this factor are of the same size."""

TOLERANCE = 0.15
"""A batch that differs by more than this share is not noise."""

ENOUGH = 5
"""Batches averaged into a point before it stops moving."""

SPREAD = 1.5
"""Record counts, or slots, must differ by this factor to give a slope."""

POINTS_PER_SLOTS = 4
MAX_POINTS = 24

REPEATED = 4
"""Batches of a size needed before it says anything about the regimes."""

BEYOND = 0.05
"""A batch is the fastest or the slowest of its point if it is that by this share: less would
change the memory with many a batch."""

OUT_OF_PROPORTION = 1.2
"""Time per record over that in the best smaller batch from which a batch is overload."""

KNEE_S = 1800.0
"""Seconds after which batches past a knee, or those that say that fewer slots are slower each, are
forgotten unless such a batch is seen again."""

ASSUMED_S = 600.0
"""Seconds for which a single batch may say that more slots carry less, or batches that were only
brought to another pace, that more would hardly help."""

CEILING = 0.3
"""More slots hardly carry more if capacity grows by less than this power of them: at twice the
slots, by less than 1.23."""

SEEN_STEP_S = 600.0
"""Precision of the time at which a point was last seen, so that a steady memory rarely changes."""


@dataclass(frozen=True, slots=True)
class Point:
    """One learned batch size: slots, records, seconds outside the work, seconds in total."""

    slots: float
    records: int
    out_s: float
    duration_s: float
    in_flight: int = 0
    """Calls in flight per slot; 0 if no stage waits for calls."""
    batches: int = 1
    """Number of batches averaged; 0 if it was only brought to another pace."""
    call_s: float = 0.0
    """Seconds of a call, one per record; 0 if unknown or without calls."""
    producer: str = ""
    """How it ran and wrote, as in `Settings.way`; its name is that of what was stored first."""
    fastest_s: float = 0.0
    slowest_s: float = 0.0
    """Seconds per record of its fastest and its slowest batch; 0 if only the mean is known, see
    `least_s` and `most_s`."""
    seen_s: float = 0.0
    """When its last batch was seen, by steps of `SEEN_STEP_S`."""

    @property
    def each_s(self) -> float:
        """Mean seconds per record."""
        return self.duration_s / self.records

    @property
    def least_s(self) -> float:
        """Seconds per record of its fastest batch, or of their mean."""
        return self.fastest_s or self.each_s

    @property
    def most_s(self) -> float:
        """Seconds per record of its slowest batch, or of their mean."""
        return self.slowest_s or self.each_s

    @property
    def class_(self) -> tuple[float, int, str]:
        """What batches must have in common, besides their size, to be averaged."""
        return (self.slots, *self.manner)

    @property
    def manner(self) -> tuple[int, str]:
        """How it called, ran and wrote, whatever its slots."""
        return (self.in_flight, self.producer)

    @property
    def work_s(self) -> float:
        """Seconds of the work with records."""
        return max(self.duration_s - self.out_s, 1e-3)

    @property
    def slot_seconds(self) -> float:
        """Slot-seconds spent on it."""
        return self.work_s * self.slots

    @property
    def slot_s(self) -> float:
        """Slot-seconds per record."""
        return self.slot_seconds / self.records

    @property
    def rate(self) -> float:
        """Records/s while the work is under way."""
        return self.records / self.work_s

    @property
    def waiting(self) -> float:
        """Slot-seconds spent waiting for calls: Little's law, calls × seconds / in flight."""
        if not self.in_flight:
            return 0.0
        return min(self.records * self.call_s / self.in_flight, self.slot_seconds)

    @property
    def rest(self) -> Point:
        """The same batch without the waiting."""
        return replace(self, duration_s=self.duration_s - self.waiting / self.slots)


def learn(points: tuple[Point, ...], new: Point) -> tuple[Point, ...]:
    """The points with a new batch: added if its class is new, else averaged into its class.

    A class with enough batches does not move until a batch differs clearly from it; then it moves
    only halfway, because the batch that differs most is the one with the most noise.
    """
    if new.records <= 0:
        return points
    points = _without_old_knees(points, new.seen_s)
    points = _without_old_floors(_without_old_ceilings(points, new), new)
    for index, old in enumerate(points):
        if old.class_ == new.class_ and same_size(old.records, new.records):
            moved = _with_batch(old, new)
            return points if moved == old else (*points[:index], *points[index + 1 :], moved)
    same = [p for p in points if p.class_ == new.class_]
    if len(same) >= POINTS_PER_SLOTS:
        points = tuple(p for p in points if p is not same[0])
    return (*points, replace(new, fastest_s=rounded(new.each_s), slowest_s=rounded(new.each_s)))[
        -MAX_POINTS:
    ]


def _with_batch(old: Point, new: Point) -> Point:
    """A class with one more batch; the same one if that says nothing new."""
    each_s, fresh = rounded(new.each_s), new.seen_s - old.seen_s >= SEEN_STEP_S
    faster = not old.fastest_s or each_s < (1 - BEYOND) * old.fastest_s
    slower = each_s > (1 + BEYOND) * old.slowest_s
    seen = replace(
        old,
        fastest_s=each_s if faster else old.fastest_s,
        slowest_s=each_s if slower else old.slowest_s,
        seen_s=new.seen_s if fresh else old.seen_s,
    )
    near = abs(new.duration_s - old.duration_s) <= TOLERANCE * old.duration_s
    if near and old.batches >= ENOUGH:
        return seen
    return _towards(seen, new, max(2, old.batches + 1) if near else 2)


def rounded(each_s: float) -> float:
    """Three significant digits, which are short in the memory."""
    return float(f"{each_s:.3g}")


def _towards(old: Point, new: Point, batches: int) -> Point:
    """The mean of a class with one more batch, weighted as one of `batches`."""
    share = 1 / batches
    return replace(
        old,
        records=round(old.records + share * (new.records - old.records)),
        out_s=round(old.out_s + share * (new.out_s - old.out_s), 3),
        duration_s=round(old.duration_s + share * (new.duration_s - old.duration_s), 3),
        call_s=round(old.call_s + share * (new.call_s - old.call_s), 5),
        batches=batches,
    )


def ran_alike(points: Sequence[Point], way: str) -> tuple[Point, ...]:
    """The points learned at one way of running and writing; all of them if there are none."""
    return tuple(p for p in points if p.producer == way) or tuple(points)


def batch_rate(records: float, duration_s: float, trigger_s: float) -> float:
    """Records/s of a batch over the longer of its duration and the trigger."""
    return records / max(duration_s, trigger_s, 1e-3)


def same_size(a: int, b: int) -> bool:
    """Whether two record counts are in the same size class."""
    return max(a, b) <= SAME_SIZE * min(a, b)


def knees(points: Sequence[Point]) -> dict[float, int]:
    """By slots, the most records known to be below the third of the seeds' three regimes.

    The regimes of a batch's time over its size are flat, slow growth and overload (docs/seeds.md).
    In the first two a larger batch costs less per record, since the fixed cost is shared; in the
    third it costs more. Batches differ for many reasons, such as a cold JVM: three sizes are
    needed, several batches of each, and every large batch must have taken longer per record than
    every small one (Tukey's quick test). Slow batches come in runs, so a test of means would take
    one run for evidence.
    """
    found = {}
    for slots in {p.slots for p in points}:
        seen = (p for p in points if p.slots == slots and p.batches >= REPEATED)
        group = sorted(seen, key=lambda p: p.records)
        for index, large in enumerate(group[2:], start=2):
            best = min(group[:index], key=lambda p: p.each_s)
            if _overloaded(large, best):
                found[slots] = best.records
                break
    return found


def _overloaded(large: Point, best: Point) -> bool:
    larger = large.records >= SPREAD * best.records
    slower = large.each_s > OUT_OF_PROPORTION * best.each_s
    return larger and slower and large.least_s > best.most_s


def hardly_more(more: Point, fewer: Point) -> bool:
    """Whether a point says that more slots carry hardly more than a point on fewer of them."""
    return more.rate < fewer.rate * math.pow(more.slots / fewer.slots, CEILING)


def _without(points: tuple[Point, ...], forgotten: Callable[[Point], bool]) -> tuple[Point, ...]:
    """The points that are not forgotten; the same tuple if none is."""
    kept = tuple(p for p in points if not forgotten(p))
    return kept if len(kept) < len(points) else points


def _without_old_knees(points: tuple[Point, ...], now_s: float) -> tuple[Point, ...]:
    """The points without those past a knee that were not seen for long: it may have moved."""
    old = [p for p in points if now_s - p.seen_s >= KNEE_S]
    alike = {p: [q for q in points if q.class_ == p.class_] for p in old}
    past = [p for p in old if p.records > knees(alike[p]).get(p.slots, p.records)]
    return _without(points, past.__contains__)


def _without_old_ceilings(points: tuple[Point, ...], new: Point) -> tuple[Point, ...]:
    """The points without those on more slots that say that more would hardly help, if no batch has
    shown that at the present pace, or that they carry less, if only one has: it may be slow by
    chance. While they are believed, nobody tries."""

    def ceiling(p: Point) -> bool:
        assumed = p.batches < 2 and new.seen_s - p.seen_s >= ASSUMED_S
        alike = p.slots > new.slots and p.manner == new.manner
        return assumed and alike and (p.rate < new.rate if p.batches else hardly_more(p, new))

    return _without(points, ceiling)


def _without_old_floors(points: tuple[Point, ...], new: Point) -> tuple[Point, ...]:
    """The points without those on fewer slots that were not seen for long and say that these carry
    less than in proportion: slots share a service or a disk, so fewer of them are no slower each.
    The work was slower then, or they were slow by chance. While they are believed, no slots leave.
    """
    known = [p for p in points if p.class_ == new.class_ and p.batches >= REPEATED]

    def floor(p: Point) -> bool:
        alike = p.slots < new.slots and p.manner == new.manner
        if not alike or new.seen_s - p.seen_s < KNEE_S:
            return False
        as_large = (q for q in known if SAME_SIZE * p.records >= q.records)
        return any(p.slot_s > OUT_OF_PROPORTION * q.slot_s for q in as_large)

    return _without(points, floor)

"""The capacity model: how long a batch takes, learned from the pipeline's own batches.

A batch of n records on p slots takes (design section 5, Capacity)

    D(n, p) = out + (A + W(p)·n) / p            p = slots at work

with `out` seconds outside the work on records, A slot-seconds of cost that do not grow with n
(chiefly the start of each task), and W(p) slot-seconds a record. From it follow

    o(p) = out + A/p        capacity(p) = p / W(p)        s(p, T) = capacity(p)·max(0, 1 − o(p)/T)

Tasks of one size run in waves of as many as there are slots, and slots idle in the last one: 12
tasks on 5 slots take three waves, as on 4, so that 4 are at work.

Where tasks wait for calls of a remote service, m at a time, W = w + c/m: c seconds of waiting a
record, shared by m (Little's law: calls in flight = rate × seconds of a call).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from trimtab.tuning.points import SPREAD, Point, knee_of

WIDE = 2.5
"""Record counts that differ by this factor tell the slope whatever the noise."""

USUAL_EXPONENT = 0.9
"""b of capacity ∝ p^b before two slot counts were learned: few pipelines scale in proportion."""

LEAST_EXPONENT = 0.5
"""Capacity is taken to grow at least as the root of the slots: less is for a trial to show."""

SEEN = 0.1
"""Share of the smallest batch's work below which an intercept may be nothing but noise."""


@dataclass(frozen=True, slots=True)
class Model:
    """D(n, p) of one pipeline."""

    out_s: float
    fixed: float
    """A: slot-seconds a batch that do not grow with its records."""
    per_record: tuple[tuple[float, float], ...]
    """W(p): slot-seconds a record by slots at work, ascending."""
    tasks: int
    in_flight: int = 0
    """Calls in flight of each slot that W was read at, or brought to."""
    waiting: float = 1.0
    """Share of W that waits for calls: what more calls in flight can cut."""
    batches: tuple[tuple[float, int], ...] = ()
    """Records of the largest learned batch by slots at work, ascending."""
    apart: Model | None = None
    """The same batches with all that does not wait for calls taken for a cost that does not grow,
    where the time of a call is known: what calls in flight are chosen by while batches are small,
    which would else be asked to make up for what they do not cut."""
    knee: int | None = None
    """Records above which a batch takes out of proportion longer; None where none was seen."""
    waves: bool = False
    """Whether tasks run whole, so that slots idle in the last wave of them."""

    def learned(self, slots: float) -> bool:
        """Whether a batch on so many slots was seen."""
        return any(self.slots(slots) == known for known, _ in self.per_record)

    def extrapolates(self, records: float) -> bool:
        """Whether a batch of so many records is far larger than all that were learned."""
        return WIDE * max((seen for _, seen in self.batches), default=0) < records

    def comparable(self, one: float, other: float) -> bool:
        """Whether two learned counts of slots at work were seen with batches of about one size.

        Where they were not, the capacity of one of them is an extrapolation far from its batches.
        """
        sizes = dict(self.batches)
        if one not in sizes or other not in sizes:
            return True
        return max(sizes[one], sizes[other]) <= WIDE * min(sizes[one], sizes[other])

    def slowed(self, factor: float) -> Model:
        """The same pipeline with all that its slots do slower by a factor."""
        weights = tuple((slots, weight * factor) for slots, weight in self.per_record)
        apart = self.apart.slowed(factor) if self.apart else None
        return replace(self, fixed=self.fixed * factor, per_record=weights, apart=apart)

    def with_in_flight(self, calls: int | None) -> Model:
        """The same pipeline with another number of calls in flight."""
        if not calls or not self.in_flight or calls == self.in_flight:
            return self
        factor = call_factor(self.waiting, self.in_flight, calls)
        weights = tuple((slots, weight * factor) for slots, weight in self.per_record)
        waiting = self.waiting * self.in_flight / calls / factor
        return replace(self, per_record=weights, in_flight=calls, waiting=waiting)

    def weight(self, slots: float) -> float:
        """W at so many slots at work: between learned points linear in capacity, below as nearest.

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
        """b of capacity ∝ p^b above the largest learned point; `USUAL_EXPONENT` with only one.

        Read from that point and the nearest one that has clearly fewer slots: noise in points
        that lie close together would be taken for scaling. The more slots, the more they wait for
        what they share (Amdahl 1967), so that b falls with p; a local b follows that.
        """
        largest, weight = self.per_record[-1]
        fewer = [(p, w) for p, w in self.per_record if SPREAD * p <= largest]
        if not fewer:
            return USUAL_EXPONENT
        slots, other = fewer[-1]
        gain = math.log((largest / weight) / (slots / other)) / math.log(largest / slots)
        return min(max(gain, LEAST_EXPONENT), 1.0)

    def slots(self, slots: float) -> float:
        """Slots at work: no more than there are tasks, and none that idles in the last wave."""
        return at_work(slots, self.tasks, waves=self.waves)

    def overhead_s(self, slots: float) -> float:
        """o(p): seconds of a batch that do not grow with its records."""
        return self.out_s + self.fixed / self.slots(slots)

    def capacity(self, slots: float) -> float:
        """Records/s that p slots work off once a batch is under way."""
        used = self.slots(slots)
        return used / self.weight(used)

    def duration_s(self, records: float, slots: float) -> float:
        """D(n, p) in seconds."""
        return self.overhead_s(slots) + records / self.capacity(slots)

    def sustainable(self, slots: float, trigger_s: float) -> float:
        """s(p, T): the highest rate whose batch still fits its trigger, in records/s."""
        if trigger_s <= 0:
            return self.capacity(slots)
        return self.capacity(slots) * max(0.0, 1.0 - self.overhead_s(slots) / trigger_s)


def at_work(slots: float, tasks: int, *, waves: bool) -> float:
    """Slots that so many tasks keep at work: all of them, or tasks / waves where they run whole."""
    used = max(1.0, min(slots, tasks))
    if not waves:
        return used
    return tasks / math.ceil(tasks / used - 1e-9)  # slots that are at work keep all at work


def fit(
    points: Sequence[Point], tasks: int, in_flight: int | None = None, *, waves: bool = False
) -> Model | None:
    """The model that the points support; None where there are none.

    With batches of clearly different sizes the cost that does not grow (A) is read from the
    slope; before that all of the work is taken to grow with the records, which is right near the
    point and pessimistic above it. Points of another number of calls in flight count where there
    is none of the present one, brought to it.
    """
    tasks = max(1, tasks)
    usable = [
        replace(p, slots=at_work(p.slots, tasks, waves=True)) if waves else p
        for p in points
        if p.records > 0
    ]
    if not usable:
        return None
    calls, told = in_flight or 0, None
    rests = [p.rest for p in usable if p.waiting]
    if calls:
        exact = [p for p in usable if p.in_flight in {0, calls}]
        told = _waiting(usable, calls, _fixed(exact) or _fixed(rests))
        usable = _at_calls(usable, calls, 1.0 if told is None else told)
    knee = knee_of(usable)
    below = [p for p in usable if knee is None or p.records <= knee] or usable
    fixed = _fixed(below) or (_fixed(rests) if calls else 0.0)
    by_slots: dict[float, list[Point]] = {}
    for point in below:
        by_slots.setdefault(point.slots, []).append(point)
    per_record = tuple((slots, _weight(group, fixed)) for slots, group in sorted(by_slots.items()))
    largest = tuple((s, max(p.records for p in group)) for s, group in sorted(by_slots.items()))
    out_s = sorted(p.out_s for p in usable)[len(usable) // 2]
    model = Model(
        out_s=out_s, fixed=fixed, per_record=per_record, tasks=tasks,
        in_flight=calls, waiting=_timed(below, fixed) if told is None else told, batches=largest,
        knee=knee, waves=waves,
    )  # fmt: skip
    return replace(model, apart=_apart(model, below)) if told is None else model


def _timed(points: Sequence[Point], fixed: float) -> float:
    """Share of W that waits by the time of a call in the largest batch; 1 where it is not known."""
    timed = max((p for p in points if p.waiting), key=lambda p: p.records, default=None)
    if timed is None:
        return 1.0
    return min(1.0, timed.waiting / timed.records / _weight([timed], fixed))


def _apart(model: Model, points: Sequence[Point]) -> Model | None:
    """The model whose slots do nothing but wait for calls, beside a cost that does not grow."""
    rests = sorted(p.slot_seconds - p.waiting for p in points if p.waiting)
    if not rests:
        return None
    largest = max((p for p in points if p.waiting), key=lambda p: p.records)
    waits = largest.waiting / largest.records
    weights = tuple((slots, waits) for slots, _ in model.per_record)
    return replace(model, fixed=rests[len(rests) // 2], per_record=weights, waiting=1.0)


def call_factor(waiting: float, now: int, new: int) -> float:
    """W at `new` calls in flight over W at `now`, where a share of W waits for them."""
    return 1.0 - waiting + waiting * now / new


def _waiting(points: Sequence[Point], calls: int, fixed: float) -> float | None:
    """Share of W = w + c/m that waits, at `calls` in flight; None until two numbers were seen.

    Read at the slot count where the numbers of calls lie farthest apart, from the largest batch of
    each: there it is least mixed with what does not grow, of which `fixed` is known.
    """
    best: tuple[float, float | None] = (1.0, None)
    for slots in {p.slots for p in points}:
        group = [p for p in points if p.slots == slots and p.in_flight]
        if len({p.in_flight for p in group}) < 2:
            continue
        few = min(group, key=lambda p: (p.in_flight, -p.records))
        many = max(group, key=lambda p: (p.in_flight, p.records))
        w_few, w_many = _weight([few], fixed), _weight([many], fixed)
        wait = max(0.0, (w_few - w_many) / (1 / few.in_flight - 1 / many.in_flight))
        spread = many.in_flight / few.in_flight
        work = max(0.0, w_many - wait / many.in_flight)
        share = wait / calls / (work + wait / calls) if work + wait > 0 else 0.0
        best = max(best, (spread, share), key=lambda found: found[0])
    return best[1]


def _at_calls(points: Sequence[Point], calls: int, waiting: float) -> list[Point]:
    """The points of one number of calls in flight, and of other slot counts those brought to it."""
    exact = [p for p in points if p.in_flight in {0, calls}]
    known = {p.slots for p in exact}
    brought = [
        replace(p, duration_s=p.out_s + (p.duration_s - p.out_s) / factor, in_flight=calls)
        for p in points
        if p.slots not in known
        for factor in [call_factor(waiting, calls, p.in_flight)]
    ]
    return exact + brought


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
    return 0.0 if middle < SEEN * smallest else min(middle, 0.95 * smallest)


def _intercept(group: Sequence[Point]) -> float:
    """Intercept of the least-squares line of slot-seconds over records, weighted by 1/n².

    Noise is a share of a batch's time, so that small batches tell the intercept best. Where the
    sizes lie close together noise would decide: there the slope is drawn towards that of a line
    through the origin, which takes all of the work to grow with the records.
    """
    weights = [1 / p.records**2 for p in group]
    total = math.fsum(weights)
    mean_n = math.fsum(w * p.records for w, p in zip(weights, group, strict=True)) / total
    mean_y = math.fsum(w * p.slot_seconds for w, p in zip(weights, group, strict=True)) / total
    spread = math.fsum(w * (p.records - mean_n) ** 2 for w, p in zip(weights, group, strict=True))
    cross = math.fsum(
        w * (p.records - mean_n) * (p.slot_seconds - mean_y)
        for w, p in zip(weights, group, strict=True)
    )
    slope = max(cross / spread, 0.0) if spread > 0 else 0.0
    ratio = max(p.records for p in group) / min(p.records for p in group)
    told = min(1.0, (ratio - SPREAD) / (WIDE - SPREAD))
    slope = told * slope + (1 - told) * mean_y / mean_n
    return mean_y - slope * mean_n


def _weight(group: Sequence[Point], fixed: float) -> float:
    """W in slot-seconds a record, from the largest batch: there it is least mixed with A."""
    largest = max(group, key=lambda p: p.records)
    return max(largest.slot_seconds - fixed, 0.05 * largest.slot_seconds) / largest.records

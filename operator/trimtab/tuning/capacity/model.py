"""The capacity model: how long a batch takes, learned from the pipeline's own batches.

A batch of n records on p slots takes

    D(n, p) = out + (A + W(p)·n) / p            p = slots at work

with `out` seconds outside the work on records, A slot-seconds of fixed cost that do not grow with n
(mainly the start of each task), and W(p) slot-seconds per record. It follows that

    o(p) = out + A/p        capacity(p) = p / W(p)        s(p, T) = capacity(p)·max(0, 1 − o(p)/T)

Tasks of equal size run in waves of as many as there are slots, and slots idle in the last one: 12
tasks on 5 slots take three waves, as on 4, so 4 slots are at work.

If tasks wait for calls of a remote service, m at a time, W = w + c/m: c seconds of waiting per
record, shared by m (Little's law: calls in flight = rate × seconds of a call).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

from trimtab.tuning.capacity.points import SPREAD

WIDE = 2.5
"""Record counts that differ by this factor show the slope despite the noise."""

MUCH_LARGER = 1.5
"""A batch is much larger than the learned ones if each slot has this many times the records."""

FAR = 2.5
"""It lasts far longer than predicted from this factor: a pause may double any batch."""

USUAL_EXPONENT = 0.9
"""b of capacity ∝ p^b before two slot counts were learned: few pipelines scale linearly."""

LEAST_EXPONENT = 0.5
"""Capacity is assumed to grow at least with the square root of the slots; a trial may show less."""


@dataclass(frozen=True, slots=True)
class CallCost:
    """The cost of a batch as the time of a remote call shows it, in slot-seconds."""

    rest: float
    """Everything except waiting for calls."""
    per_record: float
    """Waiting for calls, per record."""

    def slowed(self, factor: float) -> CallCost:
        """The same cost if everything takes longer by a factor."""
        return CallCost(self.rest * factor, self.per_record * factor)


@dataclass(frozen=True, slots=True)
class Model:
    """D(n, p) of one pipeline."""

    out_s: float
    fixed: float
    """A: slot-seconds per batch that do not grow with its records."""
    per_record: tuple[tuple[float, float], ...]
    """W(p): slot-seconds per record by slots at work, ascending."""
    tasks: int
    in_flight: int = 0
    """Calls in flight per slot at which W was measured, or to which it was converted."""
    waiting: float = 1.0
    """Share of W that waits for calls, which more calls in flight can reduce."""
    batches: tuple[tuple[float, int], ...] = ()
    """Records of the largest learned batch by slots at work, ascending."""
    call_cost: CallCost | None = None
    """The cost from the time of a call, until two numbers of calls in flight were seen often."""
    knees: tuple[tuple[float, int], ...] = ()
    """Records above which a batch takes disproportionately longer, by slots at work."""
    waves: bool = False
    """Whether each task runs on one slot, so slots idle in the last wave."""
    thin: frozenset[float] = frozenset()
    """Slots at work whose W rests on batches of a size that was hardly seen: they may be slow by
    chance, as in a driver whose code still compiles."""

    def knee(self, slots: float) -> int | None:
        """Records above which a batch takes disproportionately longer; None if none was seen."""
        return dict(self.knees).get(self.slots(slots))

    def learned(self, slots: float) -> bool:
        """Whether a batch on this number of slots was seen."""
        return any(self.slots(slots) == known for known, _ in self.per_record)

    def sure(self, slots: float) -> bool:
        """Whether the slope of batches of several sizes shows W there, each seen often."""
        return self.fixed > 0 and self.slots(slots) not in self.thin

    def extrapolates(self, records: float) -> bool:
        """Whether a batch of this size is far larger than all learned ones."""
        return WIDE * self.largest < records

    @property
    def largest(self) -> int:
        """Records of the largest learned batch; 0 if unknown."""
        return max((seen for _, seen in self.batches), default=0)

    @property
    def largest_each(self) -> float:
        """Records for each slot in the learned batch that had most of them; 0 if unknown."""
        return max((records / slots for slots, records in self.batches), default=0.0)

    def overloads(self, records: float, slots: float, seconds: float) -> bool:
        """Whether a batch much larger than all learned ones lasts far longer than they predict."""
        if records < MUCH_LARGER * self.largest_each * slots:
            return False
        return seconds >= FAR * self.duration_s(records, slots)

    def comparable(self, one: float, other: float) -> bool:
        """Whether two learned slot counts were seen with batches of similar size.

        If not, the capacity of one of them is an extrapolation far beyond its batches.
        """
        sizes = dict(self.batches)
        if one not in sizes or other not in sizes:
            return True
        return max(sizes[one], sizes[other]) <= WIDE * min(sizes[one], sizes[other])

    def slowed(self, factor: float) -> Model:
        """The same pipeline with everything its slots do slower by a factor."""
        weights = tuple((slots, weight * factor) for slots, weight in self.per_record)
        cost = self.call_cost.slowed(factor) if self.call_cost else None
        return replace(self, fixed=self.fixed * factor, per_record=weights, call_cost=cost)

    @property
    def by_call_time(self) -> Model:
        """The same batches with everything except waiting for calls taken as fixed cost.

        Used to choose the calls in flight while batches are small; otherwise calls would have to
        make up for cost that they cannot reduce. The model itself if the call time is unknown.
        """
        if self.call_cost is None:
            return self
        weights = tuple((slots, self.call_cost.per_record) for slots, _ in self.per_record)
        return replace(
            self, fixed=self.call_cost.rest, per_record=weights, waiting=1.0, call_cost=None
        )

    def with_in_flight(self, calls: int | None) -> Model:
        """The same pipeline with another number of calls in flight."""
        if not calls or not self.in_flight or calls == self.in_flight:
            return self
        factor = call_factor(self.waiting, self.in_flight, calls)
        weights = tuple((slots, weight * factor) for slots, weight in self.per_record)
        waiting = self.waiting * self.in_flight / calls / factor
        return replace(self, per_record=weights, in_flight=calls, waiting=waiting)

    def with_tasks(self, tasks: int) -> Model:
        """The same pipeline with at least this many tasks."""
        return replace(self, tasks=max(self.tasks, tasks))

    def weight(self, slots: float) -> float:
        """W at a number of slots: linear in capacity between learned points, the nearest below.

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

        Calculated from that point and the nearest one with clearly fewer slots: between points
        close together, noise would look like scaling. More slots wait more for what they share
        (Amdahl 1967), so b falls with p; a local b follows that.
        """
        largest, weight = self.per_record[-1]
        fewer = [(p, w) for p, w in self.per_record if SPREAD * p <= largest]
        if not fewer:
            return USUAL_EXPONENT
        slots, other = fewer[-1]
        gain = math.log((largest / weight) / (slots / other)) / math.log(largest / slots)
        return min(max(gain, LEAST_EXPONENT), 1.0)

    def slots(self, slots: float) -> float:
        """Slots at work: at most one per task, without those that idle in the last wave."""
        return at_work(slots, self.tasks, waves=self.waves)

    def overhead_s(self, slots: float) -> float:
        """o(p): seconds of a batch that do not grow with its records."""
        return self.out_s + self.fixed / self.slots(slots)

    def capacity(self, slots: float) -> float:
        """Records/s that p slots process once a batch is under way."""
        used = self.slots(slots)
        return used / self.weight(used)

    def duration_s(self, records: float, slots: float) -> float:
        """D(n, p) in seconds."""
        return self.overhead_s(slots) + records / self.capacity(slots)

    def back_to_back_s(self, rate: float, slots: float) -> float:
        """Seconds of batches that follow each other at once: o / (1 − rate/capacity)."""
        free = 1.0 - rate / self.capacity(slots)
        return self.overhead_s(slots) / free if free > 0 else math.inf

    def sustainable(self, slots: float, trigger_s: float) -> float:
        """s(p, T): the highest rate whose batch still fits its trigger, in records/s."""
        if trigger_s <= 0:
            return self.capacity(slots)
        return self.capacity(slots) * max(0.0, 1.0 - self.overhead_s(slots) / trigger_s)


def at_work(slots: float, tasks: int, *, waves: bool) -> float:
    """Slots that the tasks keep at work: all of them, or tasks / waves if they run in waves."""
    used = max(1.0, min(slots, tasks))
    if not waves:
        return used
    return tasks / math.ceil(tasks / used - 1e-9)  # slots that are at work keep all at work


def call_factor(waiting: float, now: int, new: int) -> float:
    """W at `new` calls in flight over W at `now`, if a share of W waits for them."""
    return 1.0 - waiting + waiting * now / new

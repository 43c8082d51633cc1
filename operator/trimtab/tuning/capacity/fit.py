"""The capacity model fitted to learned batches, in steps: normalise, waiting share, knee, cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from trimtab.tuning.capacity.model import WIDE, CallCost, Model, at_work, call_factor
from trimtab.tuning.capacity.points import REPEATED, SPREAD, Point, hardly_more, knees

MORE_CALLS = 1.5
"""Smallest ratio between two numbers of calls in flight whose times can be compared."""

SEEN = 0.1
"""Share of the smallest batch's work below which an intercept may be just noise."""

DOUBT = 0.1
"""Standard error of a learned point, as a share of its time: noise of 12 % with a memory hardly
averages out over the batches of a point (docs/benchmarks/simulator.md)."""

BELIEVED = 0.5
"""Largest share of a batch's work that is taken for fixed cost: so no pipeline is believed to carry
more than twice what its largest batch has shown."""


def fit(
    points: Sequence[Point], tasks: int, in_flight: int | None = None, *, waves: bool = False
) -> Model | None:
    """The model that the points support; None if there are none.

    With batches of clearly different sizes, the slope yields the fixed cost (A); before that, all
    of the work is assumed to grow with the records, which is right near the point and pessimistic
    above it. At slot counts without points for the current calls in flight, points with other
    numbers of calls are converted.
    """
    tasks, calls = max(1, tasks), in_flight or 0
    usable = _normalised(points, tasks, waves=waves)
    if not usable:
        return None
    rests = [p.rest for p in usable if p.waiting] if calls else []
    waiting = _waiting_share(usable, calls, rests)
    if calls:
        usable = _at_calls(usable, calls, 1.0 if waiting is None else waiting)
    found = knees([p for p in usable if p.in_flight in {0, calls}])
    below = [p for p in usable if p.records <= found.get(p.slots, p.records)]
    fixed = _fixed(rests) or _fixed(below)
    by_slots: dict[float, list[Point]] = {}
    for point in sorted(below, key=lambda p: p.slots):
        by_slots.setdefault(point.slots, []).append(point)
    thin = {slots for slots, group in by_slots.items() if _largest(group).batches < REPEATED}
    return Model(
        out_s=sorted(p.out_s for p in usable)[len(usable) // 2],
        fixed=fixed,
        per_record=tuple((slots, _weight(group, fixed)) for slots, group in by_slots.items()),
        tasks=tasks,
        in_flight=calls,
        waiting=_timed(below, fixed) if waiting is None else waiting,
        batches=tuple((slots, _largest(group).records) for slots, group in by_slots.items()),
        call_cost=_call_cost(below) if waiting is None or thin else None,
        knees=tuple(sorted(found.items())),
        waves=waves,
        thin=frozenset(thin),
    )


def _normalised(points: Sequence[Point], tasks: int, *, waves: bool) -> list[Point]:
    """The batches that had records, by the slots at work."""
    used = [p for p in points if p.records > 0]
    return [replace(p, slots=at_work(p.slots, tasks, waves=True)) for p in used] if waves else used


def _waiting_share(points: Sequence[Point], calls: int, rests: Sequence[Point]) -> float | None:
    """Share of W that waits, from two numbers of calls in flight; None if they do not show it."""
    if not calls:
        return None
    exact = [p for p in points if p.in_flight in {0, calls}]
    return _waiting(points, calls, _fixed(exact) or _fixed(rests))


def _timed(points: Sequence[Point], fixed: float) -> float:
    """Share of W that waits, from the call time in the largest batch; 1 if unknown."""
    timed = max((p for p in points if p.waiting), key=lambda p: p.records, default=None)
    if timed is None:
        return 1.0
    return min(1.0, timed.waiting / timed.records / _weight([timed], fixed))


def _call_cost(points: Sequence[Point]) -> CallCost | None:
    """The call cost from the time of a call; None if unknown."""
    timed = [p for p in points if p.waiting]
    if not timed:
        return None
    rests = sorted(p.slot_seconds - p.waiting for p in timed)
    largest = _largest(timed)
    return CallCost(rests[len(rests) // 2], largest.waiting / largest.records)


def _waiting(points: Sequence[Point], calls: int, fixed: float) -> float | None:
    """Share of W = w + c/m that waits, at `calls` in flight; None until two numbers show it.

    Taken at the slot count with the widest range of calls in flight, from the largest batch of
    each: there the fixed cost, of which `fixed` is known, distorts it least.
    """
    best: tuple[float, float | None] = (1.0, None)
    for slots in {p.slots for p in points}:
        group = [p for p in points if p.slots == slots and p.in_flight]
        if not group:
            continue
        few = min(group, key=lambda p: (p.in_flight, -p.records))
        many = max(group, key=lambda p: (p.in_flight, p.records))
        spread = many.in_flight / few.in_flight
        if spread < MORE_CALLS:
            continue
        w_few, w_many = _weight([few], fixed), _weight([many], fixed)
        wait = max(0.0, (w_few - w_many) / (1 / few.in_flight - 1 / many.in_flight))
        work = max(0.0, w_many - wait / many.in_flight)
        share = wait / calls / (work + wait / calls) if work + wait > 0 else 0.0
        best = max(best, (spread, share), key=lambda found: found[0])
    return best[1]


def _at_calls(points: Sequence[Point], calls: int, waiting: float) -> list[Point]:
    """The points with `calls` in flight, and for other slot counts those converted to it.

    Not if those say that more slots than were seen at `calls` hardly carry more: while an estimate
    is believed, nobody tries.
    """
    exact = [p for p in points if p.in_flight in {0, calls}]
    known = {p.slots for p in exact}
    brought = [
        replace(p, duration_s=p.out_s + (p.duration_s - p.out_s) / factor, in_flight=calls)
        for p in points
        if p.slots not in known
        for factor in [call_factor(waiting, calls, p.in_flight)]
    ]
    return exact + [p for p in brought if not _ceiling(p, exact)]


def _ceiling(point: Point, exact: Sequence[Point]) -> bool:
    """Whether a point speaks against more slots, beside one of batches that are not far larger."""
    fewer = (p for p in exact if p.slots < point.slots and WIDE * point.records >= p.records)
    return any(hardly_more(point, p) for p in fewer)


def _fixed(points: Sequence[Point]) -> float:
    """A in slot-seconds: the median intercept of the slot counts that show a slope."""
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

    Noise is proportional to a batch's time, so small batches show the intercept best. If the sizes
    are close together, noise would decide: the slope is then pulled towards that of a line through
    the origin, which assumes that all of the work grows with the records. Towards that line it also
    gets a margin of its standard error, because a slope that is too flat promises too much.
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
    shares = zip(weights, group, strict=True)
    error = math.hypot(*(w * (p.records - mean_n) * DOUBT * p.slot_seconds for w, p in shares))
    margin = error / spread if spread > 0 else 0.0
    return mean_y - min(slope + margin, mean_y / mean_n) * mean_n


def _weight(group: Sequence[Point], fixed: float) -> float:
    """W in slot-seconds per record, from the largest batch, where A distorts it least."""
    largest = _largest(group)
    return max(largest.slot_seconds - fixed, BELIEVED * largest.slot_seconds) / largest.records


def _largest(group: Sequence[Point]) -> Point:
    return max(group, key=lambda p: p.records)

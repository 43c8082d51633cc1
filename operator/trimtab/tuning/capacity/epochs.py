"""Epochs: what was learned before the work, or a service that it calls, changed its pace.

Points of two epochs in one fit look like a slope, a knee or a curve that is not there. So all
points are brought to the new pace, since it concerns all slots alike, and the batches that follow
replace them: once two slower batches in a row, or six faster ones that no change explains, differ
from what is known of batches like them by more than noise does; or once as many calls take a
different time.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from trimtab.tuning.capacity.model import Model
from trimtab.tuning.capacity.points import Point, rounded, same_size
from trimtab.tuning.controller_state import FastestCall

SURPRISE = 1.5
"""A batch that takes longer, or less, than expected by this factor is believed if it repeats."""

SLOWER, FASTER = 1, 5
"""How many more surprises on its side the first one needs. Noise has a memory, so a few batches are
short together: to believe in a faster pace too soon breaks the goal, and too late costs little. One
that begins while a change on trial may be why needs no more than a slower one."""

ALIKE = 1.25
"""Batches that differ from the expected ones by the same within this factor have one reason."""

OTHER_CALLS = 1.5
"""Factor by which the time of a call differs once the service has another pace."""

AS_MANY = 1.5
"""Calls in flight within this factor are as many: then it is not they that crowd the service."""


@dataclass(frozen=True, slots=True)
class Run:
    """Batches in a row that were a surprise on the same side."""

    ratio: float
    """The mean of their times over the expected ones, the newest counting most; 0: no surprise."""
    missing: int
    """How many more have to follow until they are believed."""

    def with_one(self, ratio: float, *, explained: bool) -> Run:
        """The run after one more batch, which may be the first of another one."""
        if not self.on_side_of(ratio):
            return Run(round(ratio, 3), SLOWER if ratio > 1 or explained else FASTER)
        return Run(round(math.sqrt(self.ratio * ratio), 3), max(0, self.missing - 1))

    def on_side_of(self, ratio: float) -> bool:
        """Whether one more batch goes on with the run."""
        return bool(self.ratio) and (ratio > 1) == (self.ratio > 1)

    def as_much(self, ratio: float) -> bool:
        """Whether one more batch is a surprise by about as much."""
        return 1 / ALIKE <= ratio / self.ratio <= ALIKE


def surprise(points: Sequence[Point], model: Model | None, new: Point) -> float:
    """A batch's time over the expected one, if that is a surprise; 0 if it is not.

    A batch that took less is one only among batches of other sizes at the same settings: a smaller
    or larger one than all of them may show what was not known of the sizes. Or it is one because no
    number of slots could have made it as short, if what was brought to another pace were true: then
    the pace is another one again.
    """
    if model is None:
        return 0.0
    ratio = new.duration_s / _expected_s(points, model, new)
    if ratio > SURPRISE or (ratio < 1 / SURPRISE and among(points, new)):
        return ratio
    soonest_s = _soonest_s(points, new)
    return new.work_s / soonest_s if new.work_s < soonest_s / SURPRISE else 0.0


def _soonest_s(points: Sequence[Point], new: Point) -> float:
    """The least work of the new batch, in seconds, by points that were only brought to a pace.

    Their work shrinks at best in proportion to records and slots. Smaller batches say nothing, as
    their work may have a fixed part. The median, since each is as uncertain as the batch it is of.
    """
    found = [
        known.work_s * min(1.0, new.records / known.records) * min(1.0, known.slots / new.slots)
        for known in points
        if not known.batches
        and known.manner == new.manner
        and (known.records >= new.records or same_size(known.records, new.records))
    ]
    return statistics.median(found) if found else 0.0


def at_pace(
    points: tuple[Point, ...], new: Point, ratio: float, *, sure: bool = False
) -> tuple[Point, ...]:
    """The points at the pace that a repeated surprise shows, if it is about the pace.

    A slow batch at slots or of a size never seen may show what these are like; `sure` if it follows
    one that was not.
    """
    told = ratio < 1 or sure or among(points, new)
    return tuple(_timed(p, ratio) for p in points) if told else points


def pace_of_calls(before: FastestCall, now: FastestCall) -> float:
    """The time of a call over that of the fastest one, if the service has another pace; else 1.

    Many more calls at once may crowd a service, and fewer may relieve it: that says nothing.
    """
    factor = now.seconds / before.seconds
    slower = factor >= OTHER_CALLS and now.calls <= AS_MANY * before.calls
    faster = factor <= 1 / OTHER_CALLS and now.calls >= before.calls / AS_MANY
    return factor if slower or faster else 1.0


def with_calls(points: tuple[Point, ...], factor: float) -> tuple[Point, ...]:
    """The points as they would be if each call took longer by a factor."""
    return tuple(
        replace(_timed(p, 1 + (factor - 1) * p.waiting / p.slot_seconds),
                call_s=round(p.call_s * factor, 5))
        for p in points
    )  # fmt: skip


def _timed(point: Point, factor: float) -> Point:
    """A point whose work takes longer by a factor; no batch has shown it yet."""
    duration_s = point.out_s + (point.duration_s - point.out_s) * factor
    whole = duration_s / point.duration_s
    return replace(
        point,
        duration_s=round(duration_s, 3),
        fastest_s=rounded(point.fastest_s * whole),
        slowest_s=rounded(point.slowest_s * whole),
        batches=0,
    )


def _expected_s(points: Sequence[Point], model: Model, new: Point) -> float:
    alike = (
        p.duration_s for p in points if p.class_ == new.class_ and same_size(p.records, new.records)
    )
    return next(alike, model.duration_s(new.records, new.slots))


def among(points: Sequence[Point], new: Point) -> bool:
    """Whether batches of about this size, or smaller and larger ones, were seen like this."""
    sizes = [p.records for p in points if p.class_ == new.class_]
    if any(same_size(size, new.records) for size in sizes):
        return True
    return bool(sizes) and min(sizes) < new.records < max(sizes)

"""The executors that carry most, where more of them carry less.

What executors share, such as brokers or a lock, can make many of them carry less than a few. Where
they miss the goal for lack of capacity, the law looks for the peak: it goes back to fewer that were
seen to carry as much, tries the middle of a range that may hide it, and half of them if no fewer
were ever seen. Each step is on trial, and what it shows teaches the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from trimtab.api.knobs import EXECUTORS
from trimtab.api.reasons import BottleneckKind, Reason
from trimtab.tuning.capacity.model import LEAST_EXPONENT
from trimtab.tuning.capacity.points import ENOUGH, Point
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.diagnosis.facts import Bottleneck
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.knobs.parallelism import NEAR
from trimtab.tuning.trials.comparison import Comparison, more_capacity

SURE = ENOUGH
"""Batches that show what a number of executors carries, even where some are slow by chance: as many
as a point counts, so that those of one size can be enough."""

CLEARLY = 1.25
"""An input over what executors carry that noise does not explain."""

APART = 2.0
"""Two numbers of executors that differ by this factor may hide a peak between them."""


class Peak(Knob):
    """Another number of executors, on trial: it stays if it carries as much."""

    name = "peak"
    values = (EXECUTORS,)
    moves: frozenset[BottleneckKind] = frozenset()
    starts_executors: ClassVar[bool] = True
    fallback: ClassVar[bool] = True
    stays_unproven: ClassVar[bool] = False

    def raise_(self, context: Context) -> Proposal | None:
        """The executors to try, if those of now lack capacity and no more of them would help."""
        if context.policy.maximum or context.late or context.load.capacity < 1.0:
            return None
        wanted = _back(context) or _between(context) or _half(context)
        now, (least, most) = context.settings.executors, context.executor_range
        if wanted is None or wanted == now or not least <= wanted <= most:
            return None
        settings = replace(context.settings, executors=wanted)
        reason = Reason.EXECUTORS_LOWERED if wanted < now else Reason.EXECUTORS_RAISED
        load = context.load.value
        return Proposal(self.name, self.how, settings, load, raises=True, reason=reason)

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """If fewer executors carry as much, there were too many."""
        return more_capacity(seen)

    def cause(self, context: Context, proposal: Proposal, bottleneck: Bottleneck) -> str:
        """Why another number may carry more, or as much."""
        words = f"{bottleneck.kind} ({bottleneck.evidence})"
        now, wanted = context.settings.executors, proposal.settings.executors
        if wanted * context.capacity.cores in _seen(context):
            return f"{words}; {wanted} executors carried as much as any"
        if wanted > now or min(_seen(context)) < context.slots:
            return f"{words}; the most may be carried by {wanted} executors: more carry hardly more"
        return f"{words}; how much fewer than {now} carry was never seen"


def _seen(context: Context) -> dict[int, float]:
    """Records/s by slots of which batches were seen, ascending."""
    slots = {round(point.slots) for point in context.memory.points}
    return {p: context.model.capacity(p) for p in sorted(slots)}


def _back(context: Context) -> int | None:
    """The fewest executors that were seen to carry as much as any, if there are fewer than now."""
    if not (_sure(context) and overloaded(context)):
        return None
    carried = _seen(context)
    most = max(carried.values(), default=0.0)
    as_much = (slots for slots, rate in carried.items() if rate >= NEAR * most)
    best = next(as_much, context.slots)
    return best // context.capacity.cores if best < context.slots else None


def _between(context: Context) -> int | None:
    """The middle of a range beside the executors of now in which the capacity may have a peak.

    That is the one below, if the capacity hardly grew in it, and the wider one, if more executors
    carry less.
    """
    carried, now = _seen(context), context.slots
    fewer = max((p for p in carried if p < now), default=None)
    more = min((p for p in carried if p > now), default=None)
    if now not in carried:
        return None
    ranges = []
    falls = more is not None and carried[more] < NEAR * carried[now]
    if fewer and (falls or overloaded(context)) and _flat(carried, fewer, now):
        ranges.append((fewer, now))
    least = context.executor_range[0] * context.capacity.cores
    if more and falls and (fewer or more / now > now / least):
        ranges.append((now, more))
    wide = [(low, high) for low, high in ranges if high >= APART * low]
    if not wide:
        return None
    low, high = max(wide, key=lambda ends: ends[1] / ends[0])
    return round(math.sqrt(low * high) / context.capacity.cores)


def _flat(carried: Mapping[int, float], fewer: int, more: int) -> bool:
    """Whether more slots hardly carry more."""
    return carried[more] < carried[fewer] * math.pow(more / fewer, LEAST_EXPONENT)


def _half(context: Context) -> int | None:
    """Half of the executors, if no fewer were seen, and neither do more seem to help.

    What fewer carry at another pace is only assumed: it is believed until enough batches have come.
    """
    carried, now = _seen(context), context.slots
    fewer = [p for p in context.memory.points if p.slots < now]
    if now not in carried or any(p.batches for p in fewer) or (fewer and not _sure(context)):
        return None
    if max(carried) == now and not overloaded(context):
        return None
    most = context.executor_range[1]
    if context.settings.executors < most and all(c >= context.carried for c in carried.values()):
        return None
    return context.settings.executors // 2


def overloaded(context: Context) -> bool:
    """Whether the input alone is too much, by far or even for the fastest of many batches.

    A few batches may be slow by chance, and what they leave behind is not what comes in.
    """
    least_s = min((point.least_s for point in _here(context)), default=0.0)
    return context.load.input_rate * least_s >= (1.0 if _sure(context) else CLEARLY)


def _sure(context: Context) -> bool:
    """Whether many batches ran on the executors of now."""
    return sum(point.batches for point in _here(context)) >= SURE


def _here(context: Context) -> list[Point]:
    return [point for point in context.memory.points if point.slots == context.slots]


KNOB = Peak()

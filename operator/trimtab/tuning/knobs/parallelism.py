"""Parallelism: the number of executors, changed live.

The capacity model decides how far: up to the fewest executors whose predicted load is below the
higher bound less a margin, which is larger if the capacity is only estimated; down to the fewest
for which the same holds, once one executor fewer would be light. Either way the result is in the
set that the bounds allow (the figure `exact` of docs/simulation.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from trimtab.api.knobs import EXECUTORS, MAX_IN_FLIGHT, MAX_OFFSETS
from trimtab.api.ranges import Range
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.capacity.load import ENDLESS, admitted
from trimtab.tuning.capacity.model import USUAL_EXPONENT, WIDE
from trimtab.tuning.context import MORE, Context, Proposal, near_highest
from trimtab.tuning.knobs.batch_limit import LARGER, how_with, known, needed_rate, unthrottled
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.trials.comparison import Comparison, more_capacity

LEARNED = 0.1
"""Margin to the higher bound, as a share of the dead band, if the capacity was learned."""

NEAR = 0.95
"""Share of the best effort that is enough for a goal out of reach: the last executors cost most."""

LATE = 2
"""Largest factor of a raise whose only evidence is a late batch: it may be just a pause."""

CALLS_INSTEAD = 2
"""Factor by which the calls allowed in all executors may grow where calls take their place."""


class Parallelism(Knob):
    """The number of executors."""

    name = "parallelism"
    values = (EXECUTORS, MAX_OFFSETS, MAX_IN_FLIGHT)
    moves = frozenset({Kind.CPU, Kind.CONCURRENCY, Kind.BATCH_OVERHEAD, Kind.MEMORY, Kind.FETCH})
    starts_executors: ClassVar[bool] = True
    fallback: ClassVar[bool] = True
    oscillates: ClassVar[bool] = True
    shortens_batches: ClassVar[bool] = True

    def clamp(self, policy: Policy, settings: Settings) -> Settings:
        """Within the limits for executors with as many cores as the settings give them."""
        least, most = policy.executors_of(policy.wider(settings.cores) or policy.cores)
        return replace(settings, executors=min(max(settings.executors, least), most))

    def excess(self, policy: Policy, settings: Settings) -> str:
        """Fewer or more executors than the limits allow."""
        least, most = policy.executors_of(policy.capacity(settings).cores)
        if least <= settings.executors <= most:
            return ""
        return f"{settings.executors} executors are outside {least} to {most}"

    def raise_(self, context: Context) -> Proposal | None:
        """The fewest executors that bring the load to the higher bound, else to its lowest value.

        The margin to the bound may add executors only in proportion to its width; if tasks run in
        waves, the next number that helps may be half as large again.
        """
        now, (_, most) = context.settings.executors, context.executor_range
        if context.late:
            most = min(most, LATE * now)
        if context.policy.maximum:
            useful = _useful(context)
            return _proposal(context, useful, raises=True) if useful > now else None
        loads = {p: _load(context, p) for p in range(now + 1, most + 1)}
        within = next((p for p, load in loads.items() if load <= context.band.higher), None)
        aimed = next((p for p, load in loads.items() if load <= _aim(context, p)), most)
        if within is None:
            aimed = _best(context, loads)
        elif aimed > math.ceil(within * context.band.higher / _aim(context, within)):
            aimed = within
        wanted = _fewest(context, aimed)
        return _proposal(context, wanted, raises=True) if wanted > now else None

    def release(self, context: Context) -> Proposal | None:
        """Fewer executors, if some idle in the last wave or one fewer would be light.

        If the rest would not hold alone, more calls in flight may take the place of the others. The
        batch limit does not matter here: idle executors are idle whatever it admits. In waves
        as many stay as carry the recent peak; if none do, the guard `recent_peak` says so.
        """
        now, (least, _) = context.settings.executors, context.executor_range
        if context.policy.maximum and context.load.value >= 1.0:
            useful = _useful(context)
            return _proposal(context, useful, raises=False) if useful < now else None
        if now <= least:
            return None
        if (enough := max(least, _fewest(context, now))) < now:
            return _proposal(context, enough, raises=False)
        alone = [replace(context.settings, executors=p) for p in range(least, now)]
        best = _fewest_holding(context, alone) or _fewest_holding(context, _calling(context, alone))
        return None if best is None else _offer(context, best, raises=False)

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """Judge by capacity: more slots should raise it."""
        return more_capacity(seen)


KNOB = Parallelism()


def _fewest_holding(context: Context, fewer: Sequence[Settings]) -> Settings | None:
    """The first of settings with fewer executors that holds, if the last of them would be light."""
    if not fewer or context.slots_load(fewer[-1]) >= context.light:
        return None
    holding = (s for s in fewer if context.holds(s) and _believed(context, s))
    best = next(holding, None)
    if best is not None and context.waves and not context.carries_peak(best):
        return next((s for s in holding if context.carries_peak(s)), best)
    return best


def _calling(context: Context, fewer: Sequence[Settings]) -> list[Settings]:
    """The same with more calls in flight for each, where policies allow so many.

    Unlike executors, calls cost nothing.
    """
    now, allowed = context.settings, context.policy.ranges.get(MAX_IN_FLIGHT.name, Range())
    if now.max_in_flight is None or context.fixed(MAX_IN_FLIGHT.name):
        return []
    most = min(MAX_IN_FLIGHT.maximum, allowed.within(MAX_IN_FLIGHT.maximum))
    if allowed.step:
        most = min(most, now.max_in_flight + allowed.step)
    all_calls = CALLS_INSTEAD * now.max_in_flight * now.executors
    calling = [replace(s, max_in_flight=math.ceil(all_calls / s.executors)) for s in fewer]
    return [s for s in calling if (s.max_in_flight or 0) <= most]


def _believed(context: Context, settings: Settings) -> bool:
    """Whether so few executors hold at the usual scaling too, from the fewest that were shown.

    A point that was only brought to another pace, or whose batches were far smaller than those to
    come, may promise of few slots what only many carry.
    """
    model, slots = context.model, context.policy.capacity(settings).slots
    records = context.load.demand * settings.trigger_s
    shown = (p.slots for p in context.memory.points if p.batches and WIDE * p.records >= records)
    fewest = min((s for s in shown if slots <= s < context.slots), default=context.slots)
    share = model.slots(slots) / model.slots(fewest)
    usual = model.capacity(fewest) * math.pow(share, USUAL_EXPONENT)
    too_much = max(1.0, model.capacity(slots) / usual)
    return too_much * context.slots_load(settings) <= context.clear


def _load(context: Context, executors: int) -> float:
    return context.predicted(_more(context, executors))


def _more(context: Context, executors: int) -> Settings:
    """The settings with more executors; a limit that would throttle them grows with the slots."""
    now = context.settings
    settings = replace(now, executors=executors)
    slots, model = context.policy.capacity(settings).slots, context.model
    most = min(now.max_offsets * slots / context.slots, known(context, slots))
    needed = needed_rate(context, model, slots)
    return unthrottled(context, model, settings, needed=needed, most=most)


def _best(context: Context, loads: Mapping[int, float]) -> int:
    """The fewest executors with the lowest load; those of now if none has clearly less.

    Where none carries the load, the fewest that come near the best. Where nothing is carried now,
    the loads say nothing: then as many as allowed.
    """
    now = context.settings.executors
    if context.load.value >= ENDLESS:
        return max(loads, default=now)
    lowest = min(loads.values(), default=ENDLESS)
    near, less = (NEAR, NEAR) if lowest >= 1.0 else (1.0, 1 - MORE)
    best = next((p for p, load in loads.items() if near * load <= lowest), now)
    return best if loads.get(best, ENDLESS) <= less * context.load.value else now


def _fewest(context: Context, executors: int) -> int:
    """The fewest executors with as many busy slots: the others would idle in the last wave."""
    cores = context.capacity.cores
    return math.ceil(context.model.slots(executors * cores) / cores - 1e-9)


def _aim(context: Context, executors: int) -> float:
    """The load to aim for: slightly below the higher bound, more so if it is only estimated."""
    band, slots = context.band, executors * context.capacity.cores
    if not context.model.learned(slots):
        return context.clear
    return band.higher - LEARNED * (band.higher - band.lower)


def _useful(context: Context) -> int:
    """The fewest executors that come near the highest rate of any count."""
    least, most = context.executor_range
    now, cores = context.settings, context.capacity.cores
    rates = {}
    for executors in range(least, min(most, LARGER * now.executors) + 1):
        then = _more(context, executors) if executors > now.executors else now
        rates[executors] = admitted(context.model, executors * cores, then)
    return near_highest(rates) or least


def _proposal(context: Context, executors: int, *, raises: bool) -> Proposal:
    now = context.settings
    settings = _more(context, executors) if raises else replace(now, executors=executors)
    return _offer(context, settings, raises=raises)


def _offer(context: Context, settings: Settings, *, raises: bool) -> Proposal:
    how = how_with(context, settings, KNOB.how)
    reason = Reason.EXECUTORS_RAISED if raises else Reason.EXECUTORS_RELEASED
    return context.offer(KNOB.name, how, settings, reason, raises=raises)

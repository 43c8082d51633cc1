"""How large a batch limit should be, for the knobs that move it."""

from __future__ import annotations

import math
from dataclasses import replace

from trimtab.api.knobs import MAX_OFFSETS, How
from trimtab.tuning.capacity.load import admitted
from trimtab.tuning.capacity.model import MUCH_LARGER, Model
from trimtab.tuning.context import Context
from trimtab.tuning.settings import Settings

LARGER = 4
"""Largest factor by which one step raises the batch limit."""


def known(context: Context, slots: int) -> float:
    """Records of a batch on so many slots that is not much larger than the learned ones."""
    return MUCH_LARGER * context.model.largest_each * slots


def needed_rate(context: Context, model: Model, slots: int) -> float:
    """Records/s that the limit must let in: what is asked for, as far as so many slots carry it."""
    carried = model.sustainable(slots, context.policy.pace_s(context.settings.trigger_s))
    if context.policy.maximum:
        return carried
    return min(carried, context.load.demand / context.band.higher)


def unthrottled(
    context: Context, model: Model, then: Settings, *, needed: float, most: float
) -> Settings:
    """Other settings with a limit that lets in the rate that they need, in records/s.

    Of up to `most` records; never a lower one than now, and the same where it must not move.
    """
    slots, now = context.policy.capacity(then).slots, context.settings
    if context.fixed(MAX_OFFSETS.name) or admitted(model, slots, then) >= needed:
        return then
    grown = round_up(min(most, MAX_OFFSETS.maximum))
    return replace(then, max_offsets=max(now.max_offsets, grown))


def how_with(context: Context, then: Settings, alone: How) -> How:
    """How a knob's change reaches the driver: as it does `alone`, unless the limit moves too."""
    return alone if then.max_offsets == context.settings.max_offsets else MAX_OFFSETS.how


def filling(context: Context, at_least: float) -> int:
    """A batch limit with which the slots are busy for the whole trigger, in records.

    Not below `at_least` (without a trigger nothing is waited for, so nothing needs filling), never
    past the knee, and not too far from the present one.
    """
    now, model, slots = context.settings, context.model, context.slots
    fills = max(model.capacity(slots) * now.trigger_s, at_least)
    knee = model.knee(slots) or math.inf
    return round_up(min(fills, LARGER * now.max_offsets, knee, MAX_OFFSETS.maximum))


def round_up(records: float) -> int:
    """Rounded up to two significant digits."""
    unit: int = 10 ** max(0, math.floor(math.log10(records)) - 1)
    return math.ceil(records / unit) * unit

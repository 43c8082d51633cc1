"""How large a batch limit should be, for the knobs that move it."""

from __future__ import annotations

import math

from trimtab.api.knobs import MAX_OFFSETS
from trimtab.tuning.capacity.model import MUCH_LARGER, Model
from trimtab.tuning.context import Context

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


def filling(context: Context, slots: int, at_least: float = 1.0) -> int:
    """A batch limit with which so many slots are busy for the whole trigger, in records.

    Not below `at_least` (without a trigger nothing is waited for, so nothing needs filling), never
    past the knee, and not too far from the present one.
    """
    now, model = context.settings, context.model
    fills = max(model.capacity(slots) * now.trigger_s, at_least)
    knee = model.knee(slots) or math.inf
    return round_up(min(fills, LARGER * now.max_offsets, knee, MAX_OFFSETS.maximum))


def round_up(records: float) -> int:
    """Rounded up to two significant digits."""
    unit: int = 10 ** max(0, math.floor(math.log10(records)) - 1)
    return math.ceil(records / unit) * unit

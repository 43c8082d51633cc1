"""Whether a backlog drains fast enough; everything else waits while it does."""

from __future__ import annotations

from trimtab.api.quantities import format_rate
from trimtab.tuning.capacity.load import admitted
from trimtab.tuning.context import Context
from trimtab.tuning.snapshot import Batch

CATCH_UP_SHARE = 0.8
"""Share of the predicted slope at which a falling lag counts as catching up."""


def catching_up(context: Context, batch: Batch) -> str:
    """A message while a backlog drains fast enough; empty otherwise."""
    load, settings = context.load, context.settings
    if load.latency is not None or load.backlog <= 0 or batch.executors_min < settings.executors:
        return ""
    if context.policy.maximum:
        return ""  # such a pipeline always has a backlog
    rate = batch.records / max(batch.duration_s, settings.trigger_s)
    if context.late:
        rate = min(rate, context.late.rate)
    slope = rate - load.seen_rate
    predicted = admitted(context.model, context.slots, settings) - load.seen_rate
    needed = load.backlog / context.policy.catch_up_s
    if slope <= 0 or slope < needed or slope < CATCH_UP_SHARE * min(predicted, slope * 2):
        return ""
    left_s = load.backlog / slope
    falling = f"falling by {format_rate(slope)}/s: gone in {left_s:.0f} s"
    return f"{load.backlog:.0f} records behind, {falling}"

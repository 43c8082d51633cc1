"""Parallelism: the number of executors, changed live.

The capacity model says how far: up to the fewest executors whose predicted load is at most the
higher bound (less a margin where the capacity is only estimated), down to the fewest whose
predicted load is in the middle of the band. Either way the result lies in the set that the bounds
allow (design section 7, `exact`).
"""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.knobs import EXECUTORS, How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.load import slots_load

NAME = "parallelism"
SETTINGS = (EXECUTORS.name,)
MOVES = frozenset({Kind.CPU, Kind.CONCURRENCY, Kind.BATCH_OVERHEAD, Kind.MEMORY})

MARGIN = 0.25
"""Share of the dead band that is kept clear of the higher bound beyond what has been learned."""


def raise_(context: Context) -> Proposal | None:
    """The fewest executors that bring the load to the higher bound, else as many as allowed."""
    now, most = context.settings.executors, context.policy.max_executors
    for executors in range(now + 1, most + 1):
        settings = replace(context.settings, executors=executors)
        if context.predicted(settings) <= _aim(context, executors):
            return _proposal(context, executors, raises=True)
    return _proposal(context, most, raises=True) if most > now else None


def _aim(context: Context, executors: int) -> float:
    """The load to raise for: below the higher bound where the capacity is only estimated."""
    band, slots = context.band, executors * context.policy.slots_per_executor
    if slots <= context.model.largest:
        return band.higher
    return band.higher - MARGIN * (band.higher - band.lower)


def release(context: Context) -> Proposal | None:
    """Fewer executors, if one executor fewer would be loaded below the lower bound.

    The batch limit does not count: idle executors are idle, however much it lets in.
    """
    now, least = context.settings.executors, context.policy.min_executors
    if now <= least or _slots_load(context, now - 1) >= context.band.lower:
        return None
    for executors in range(least, now):
        settings = replace(context.settings, executors=executors)
        carries = _slots_load(context, executors) <= context.middle
        if carries and context.predicted(settings) <= context.band.higher:
            return _proposal(context, executors, raises=False)
    return None


def _slots_load(context: Context, executors: int) -> float:
    settings = replace(context.settings, executors=executors)
    return slots_load(context.model, context.policy, settings, context.load.demand)


def _proposal(context: Context, executors: int, *, raises: bool) -> Proposal:
    settings = replace(context.settings, executors=executors)
    return Proposal(
        knob=NAME,
        how=How.LIVE,
        settings=settings,
        predicted=context.predicted(settings),
        raises=raises,
        reason=Reason.EXECUTORS_RAISED if raises else Reason.EXECUTORS_RELEASED,
    )

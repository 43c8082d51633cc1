"""Parallelism: the number of executors, changed live.

The capacity model says how far: up to the fewest executors whose predicted load is below the higher
bound less a margin, which is larger where the capacity is only estimated; down to the fewest for
which the same holds, once one executor fewer would be light. Either way the result lies in the set
that the bounds allow (design section 7, `exact`).
"""

from __future__ import annotations

import math
from dataclasses import replace

from trimtab.api.knobs import EXECUTORS, How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.context import MORE, Context, Proposal
from trimtab.tuning.load import admitted

NAME = "parallelism"
SETTINGS = (EXECUTORS.name,)
MOVES = frozenset({Kind.CPU, Kind.CONCURRENCY, Kind.BATCH_OVERHEAD, Kind.MEMORY, Kind.FETCH})

LEARNED = 0.1
"""Share of the dead band that is kept clear of the higher bound where the capacity was learned."""

LATE = 2
"""Largest factor of a raise that only the age of one batch speaks for: it may be just a pause."""


def raise_(context: Context) -> Proposal | None:
    """The fewest executors that bring the load to the higher bound, else as many as allowed.

    The margin to the bound is worth as many more of them as it is wide; where tasks run in waves,
    the next number that helps may be half as large again.
    """
    now, most = context.settings.executors, context.policy.max_executors
    if context.late:
        most = min(most, LATE * now)
    if context.policy.maximum:
        useful = _useful(context)
        return _proposal(context, useful, raises=True) if useful > now else None
    within, aimed = None, most
    for executors in range(now + 1, most + 1):
        load = context.predicted(replace(context.settings, executors=executors))
        if within is None and load <= context.band.higher:
            within = executors
        if load <= _aim(context, executors):
            aimed = executors
            break
    if within is not None:
        worth = math.ceil(within * context.band.higher / _aim(context, within))
        aimed = aimed if aimed <= worth else within
    wanted = _fewest(context, aimed)
    return _proposal(context, wanted, raises=True) if wanted > now else None


def _fewest(context: Context, executors: int) -> int:
    """The fewest executors with as many slots at work: the others would idle in the last wave."""
    per_executor = context.policy.slots_per_executor
    return math.ceil(context.model.slots(executors * per_executor) / per_executor - 1e-9)


def _aim(context: Context, executors: int) -> float:
    """The load to raise for: a bit below the higher bound, more so where it is only estimated."""
    band, slots = context.band, executors * context.policy.slots_per_executor
    if not context.model.learned(slots):
        return context.clear
    return band.higher - LEARNED * (band.higher - band.lower)


def _useful(context: Context) -> int:
    """The fewest executors that come near the highest rate that any count gives."""
    policy = context.policy
    counts = range(policy.min_executors, policy.max_executors + 1)
    rates = {
        p: admitted(context.model, p * policy.slots_per_executor, context.settings) for p in counts
    }
    highest = max(rates.values())
    return next(p for p, rate in rates.items() if rate >= (1 - MORE) * highest)


def release(context: Context) -> Proposal | None:
    """Fewer executors, if some idle in the last wave or one fewer would be below the lower bound.

    The batch limit does not count: idle executors are idle, however much it lets in.
    """
    now, least = context.settings.executors, context.policy.min_executors
    if context.policy.maximum and context.load.value >= 1.0:
        useful = _useful(context)
        return _proposal(context, useful, raises=False) if useful < now else None
    if now <= least:
        return None
    if (enough := max(least, _fewest(context, now))) < now:
        return _proposal(context, enough, raises=False)
    if _slots_load(context, now - 1) >= context.band.lower:
        return None
    for executors in range(least, now):
        settings = replace(context.settings, executors=executors)
        carries = _slots_load(context, executors) <= context.clear
        if carries and context.predicted(settings) <= context.band.higher:
            return _proposal(context, executors, raises=False)
    return None


def _slots_load(context: Context, executors: int) -> float:
    settings = replace(context.settings, executors=executors)
    return context.slots_load(settings)


def _proposal(context: Context, executors: int, *, raises: bool) -> Proposal:
    settings = replace(context.settings, executors=executors)
    reason = Reason.EXECUTORS_RAISED if raises else Reason.EXECUTORS_RELEASED
    return context.offer(NAME, How.LIVE, settings, reason, raises=raises)

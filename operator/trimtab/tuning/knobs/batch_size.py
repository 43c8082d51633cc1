"""Batch size: the trigger and the batch limit as one group, changed by one query restart.

In steady state a batch holds rate × max(T, D) records, so the trigger moves its size and
maxOffsetsPerTrigger only bounds the batches of a catch-up. Of the triggers in `TRIGGERS_S` the
longest is taken whose load is within the higher bound and whose batch fits in 0.9 of it: a
shorter one keeps the driver busy for nothing.
"""

from __future__ import annotations

import math
from dataclasses import replace

from trimtab.api.knobs import MAX_OFFSETS, TRIGGER, TRIGGERS_S, How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.load import latency_load
from trimtab.tuning.snapshot import Settings

NAME = "batch-size"
SETTINGS = (TRIGGER.name, MAX_OFFSETS.name)
MOVES = frozenset({Kind.ADMISSION_LIMIT, Kind.BATCH_OVERHEAD})

FILL = 0.9
"""Largest share of the trigger that a batch may take."""

WORTH = 0.9
"""A trigger that does not reach the goal is taken only if it brings the load down by 10 %."""


def raise_(context: Context) -> Proposal | None:
    """The longest trigger that holds the goal, else the best one if it clearly helps."""
    candidates = [_with_trigger(context, t) for t in TRIGGERS_S]
    others = [s for s in candidates if s != context.settings]
    reaching = [
        s for s in others if context.predicted(s) <= context.band.higher and _fits(context, s)
    ]
    if reaching:
        return _proposal(context, reaching[-1], raises=True)
    best = min(others, key=context.predicted)
    if context.predicted(best) < WORTH * context.load.value and _fits(context, best):
        return _proposal(context, best, raises=True)
    return None


def release(context: Context) -> Proposal | None:
    """A longer trigger, if even that one would leave the latency below the lower bound."""
    longer = [
        settings
        for t in TRIGGERS_S
        if t > context.settings.trigger_s
        for settings in [_with_trigger(context, t)]
        if _latency(context, settings) < context.band.lower and _fits(context, settings)
    ]
    return _proposal(context, longer[-1], raises=False) if longer else None


def _latency(context: Context, settings: Settings) -> float:
    load = latency_load(context.model, context.policy, settings, context.load.steady)
    return math.inf if load is None else load


def _fits(context: Context, settings: Settings) -> bool:
    slots = settings.executors * context.policy.slots_per_executor
    duration_s = context.model.duration_s(context.load.steady * settings.trigger_s, slots)
    return duration_s <= FILL * settings.trigger_s


def _with_trigger(context: Context, trigger_s: float) -> Settings:
    """The settings at a trigger, with a batch limit that does not throttle the demand."""
    needed = context.load.demand / context.band.higher * trigger_s
    now = context.settings.max_offsets
    limit = now if needed <= now else _round_up(needed)
    return replace(context.settings, trigger_s=trigger_s, max_offsets=limit)


def _round_up(records: float) -> int:
    """To two significant digits, upwards."""
    unit: int = 10 ** max(0, math.floor(math.log10(records)) - 1)
    return math.ceil(records / unit) * unit


def _proposal(context: Context, settings: Settings, *, raises: bool) -> Proposal:
    if settings.trigger_s < context.settings.trigger_s:
        reason = Reason.TRIGGER_SHORTENED
    elif settings.trigger_s > context.settings.trigger_s:
        reason = Reason.TRIGGER_LENGTHENED
    else:
        reason = Reason.BATCH_LIMIT_RAISED
    return Proposal(
        knob=NAME,
        how=How.QUERY,
        settings=settings,
        predicted=context.predicted(settings),
        raises=raises,
        reason=reason,
    )

"""Batch size: the trigger and the batch limit as one group, changed by one query restart.

In steady state a batch holds rate × max(T, D) records, so the trigger determines its size and
maxOffsetsPerTrigger only bounds batches during catch-up. The longest trigger in `TRIGGERS_S` wins
whose load is within the higher bound and whose batch fits in 0.9 of it: a shorter one costs more
commits and more of the driver's time. Where the policy asks for promptness, the one with the lowest
latency wins that leaves the slots room, and batches may follow each other at once. No batch may
grow past the knee, where the third of the seeds' regimes begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from trimtab.api.knobs import EXECUTORS, MAX_OFFSETS, TRIGGER, TRIGGERS_S, How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.capacity.load import latency_load
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.knobs import parallelism
from trimtab.tuning.knobs.batch_limit import LARGER, filling, known, round_up
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.settings import Settings

FILL = 0.9
"""Largest share of the trigger that a batch may take."""

WORTH = 0.9
"""A trigger that does not reach the goal is used only if it reduces the load by 10 %."""

NEAR = 1.05
"""Latencies that differ by less than this factor are alike: the longer trigger costs less."""


class BatchSize(Knob):
    """The trigger and the batch limit."""

    name = "batch-size"
    values = (TRIGGER, MAX_OFFSETS)
    moves = frozenset({
        Kind.ADMISSION_LIMIT, Kind.BATCH_OVERHEAD, Kind.STATE_COMMIT, Kind.DRIVER_PLANNING,
        Kind.SINK, Kind.MEMORY,
    })  # fmt: skip
    how: ClassVar[How] = How.QUERY
    fallback: ClassVar[bool] = True

    def raise_(self, context: Context) -> Proposal | None:
        """A trigger that meets the goal, else the best one if it clearly helps."""
        if context.policy.maximum:
            return _larger(context)
        candidates = [_with_trigger(context, t) for t in TRIGGERS_S]
        others = [s for s in candidates if s != context.settings]
        reaching = [s for s in others if _predicted(context, s) <= context.band.higher
                    and _fits(context, s)]  # fmt: skip
        if reaching:
            return _proposal(context, _preferred(context, reaching), raises=True)
        best = min(others, key=lambda s: _predicted(context, s))
        if _predicted(context, best) < WORTH * context.load.value and _fits(context, best):
            return _proposal(context, best, raises=True)
        return None

    def release(self, context: Context) -> Proposal | None:
        """A longer trigger, if the latency would still be below the lower bound.

        Or, if only the latency prevents the release of executors, the shorter trigger at which
        fewer of them meet the goal. Where the policy asks for promptness, the shortest trigger that
        leaves the slots of the fewest executors room. None is worth a pause that would break the
        goal.
        """
        if context.policy.prompt and context.policy.target_s is not None:
            settings = _longer_for_fewer(context) or _shortest(context)
        else:
            settings = _longest(context) or _room_for_fewer(context)
        if settings is None or not _pays(context, settings):
            return None
        return _proposal(context, settings, raises=False)


KNOB = BatchSize()


def room_for_shorter(
    context: Context, kind: Kind, knobs: Iterable[Knob], offers: Iterable[Proposal]
) -> list[Proposal]:
    """Offers that let a batch fit a shorter trigger, if none meets the goal at this one.

    They are for the longest trigger at which one of the knobs would meet it. They may reduce the
    load at the present trigger only a little: the shorter one comes next. Its batches are smaller
    than those observed, so their work other than waiting is assumed to shrink too; and the aim
    keeps clear of the bound, as for every estimate. Empty if a trigger is already offered.
    """
    known = any(offer.knob == KNOB.name for offer in offers)
    if known or context.policy.target_s is None or context.fixed(TRIGGER.name):
        return []
    if context.policy.pace_s(context.settings.trigger_s) > context.settings.trigger_s:
        return []  # where batches may follow each other at once, a shorter one helps nothing
    able = [knob for knob in knobs if kind in knob.moves | {Kind.ADMISSION_LIMIT}]
    for shorter in _shorter(context):
        then = replace(
            context,
            snapshot=replace(context.snapshot, settings=shorter),
            model=replace(context.model, call_cost=None),
            band=replace(context.band, higher=context.clear),
        )
        raises = [knob.raise_(then) for knob in able]
        holding = [o for o in raises if o and o.predicted <= context.band.higher]
        if holding:
            return [_now(context, offer) for offer in holding]
    return []


def _now(context: Context, offer: Proposal) -> Proposal:
    """An offer for another trigger, applied at the present one."""
    trigger_s, limit = context.settings.trigger_s, context.settings.max_offsets
    settings = replace(offer.settings, trigger_s=trigger_s, max_offsets=limit)
    purpose = f"room for a trigger of {TRIGGER.format(offer.settings.trigger_s)}"
    predicted = context.predicted(settings, offer.how)
    return replace(offer, settings=settings, predicted=predicted, purpose=purpose)


def _larger(context: Context) -> Proposal | None:
    """A larger batch limit, which spreads the fixed overhead over more records."""
    now = context.settings
    wanted = filling(context, at_least=2 * now.max_offsets)
    if wanted <= now.max_offsets:
        return None
    return _proposal(context, replace(now, max_offsets=wanted), raises=True)


def _preferred(context: Context, reaching: list[Settings]) -> Settings:
    """The longest trigger that meets the goal; if prompt, the promptest clear of the bound."""
    if not context.policy.prompt:
        return reaching[-1]
    clear = [s for s in reaching if _predicted(context, s) <= context.clear]
    return _promptest(context, clear) if clear else reaching[-1]


def _longest(context: Context) -> Settings | None:
    """The longest trigger whose latency would still be below the lower bound."""
    longer = [
        settings
        for t in TRIGGERS_S
        if t > context.settings.trigger_s
        for settings in [_with_trigger(context, t)]
        if _latency(context, settings) < context.band.lower and _fits(context, settings)
    ]
    return longer[-1] if longer else None


def _longer_for_fewer(context: Context) -> Settings | None:
    """The shortest longer trigger at which fewer executors are enough, unlike at this one."""
    now_s = context.settings.trigger_s
    longer = (_with_trigger(context, t) for t in TRIGGERS_S if t > now_s)
    return next((s for s in longer if _fewer_do(context, s)), None)


def _promptest(context: Context, settings: Iterable[Settings]) -> Settings:
    """The longest trigger whose latency is near the lowest: below a batch's time it is as low."""
    latencies = {each: _latency(context, each) for each in settings}
    near = NEAR * min(latencies.values())
    return max((each for each in latencies if latencies[each] <= near), key=lambda s: s.trigger_s)


def _shortest(context: Context) -> Settings | None:
    """The promptest trigger at which the slots have room, also for the input of late."""
    roomy = [
        settings
        for settings in _shorter(context)
        if _predicted(context, settings) < context.light and _fits(context, settings)
        if context.carries_peak(settings)
    ]
    best = _promptest(context, [context.settings, *roomy])
    return best if best != context.settings else None


def _room_for_fewer(context: Context) -> Settings | None:
    """The longest shorter trigger at which fewer executors are enough, unlike at this one."""
    if context.policy.target_s is None or context.one_fewer_load >= context.band.lower:
        return None
    return next((s for s in _shorter(context) if _fewer_do(context, s)), None)


def _fewer_do(context: Context, settings: Settings) -> bool:
    """Whether executors would be released at another trigger, and the goal still met.

    If none were, the trigger would be moved again.
    """
    if context.fixed(EXECUTORS.name):
        return False
    then = replace(context, snapshot=replace(context.snapshot, settings=settings))
    offer = parallelism.KNOB.release(then)
    if offer is None:
        return False
    return context.carries_peak(offer.settings) and _fits(context, offer.settings)


def _shorter(context: Context) -> list[Settings]:
    """The settings with each shorter trigger, the longest first."""
    triggers_s = [t for t in TRIGGERS_S if t < context.settings.trigger_s]
    return [_with_trigger(context, trigger_s) for trigger_s in reversed(triggers_s)]


def _pays(context: Context, settings: Settings) -> bool:
    """Whether the records that wait during the pause still meet the goal."""
    target_s = context.policy.target_s
    if target_s is None:
        return True
    return _latency(context, settings) + context.pause_s(How.QUERY) / target_s <= 1.0


def _predicted(context: Context, settings: Settings) -> float:
    return context.predicted(settings, How.QUERY)


def _latency(context: Context, settings: Settings) -> float:
    load = latency_load(context.model, context.policy, settings, context.load.input_rate)
    return math.inf if load is None else load


def _fits(context: Context, settings: Settings) -> bool:
    slots = context.policy.capacity(settings).slots
    records, knee = context.load.input_rate * settings.trigger_s, context.model.knee(slots)
    duration_s = context.model.duration_s(records, slots)
    room_s = FILL * context.policy.pace_s(settings.trigger_s)
    return duration_s <= room_s and (knee is None or records <= knee)


def _with_trigger(context: Context, trigger_s: float) -> Settings:
    """The settings at a trigger, with a batch limit that does not throttle the demand.

    For a backlog it grows stepwise: batches far larger than any before may overload the slots.
    """
    now, knee = context.settings.max_offsets, context.model.knee(context.slots)
    needed_each_s = context.load.demand / context.band.higher
    input_each_s = min(needed_each_s, context.load.input_rate / context.band.higher)
    stepwise = min(LARGER * now, known(context, context.slots))
    needed = min(needed_each_s * trigger_s, max(input_each_s * trigger_s, stepwise))
    limit = now if needed <= now else round_up(needed)
    if knee is not None and limit > knee:
        limit = max(knee, 1)
    return replace(context.settings, trigger_s=trigger_s, max_offsets=limit)


def _proposal(context: Context, settings: Settings, *, raises: bool) -> Proposal:
    if settings.trigger_s < context.settings.trigger_s:
        reason = Reason.TRIGGER_SHORTENED
    elif settings.trigger_s > context.settings.trigger_s:
        reason = Reason.TRIGGER_LENGTHENED
    elif settings.max_offsets < context.settings.max_offsets:
        reason = Reason.BATCH_LIMIT_LOWERED
    else:
        reason = Reason.BATCH_LIMIT_RAISED
    return context.offer(KNOB.name, KNOB.how, settings, reason, raises=raises)

"""Max-pending: calls in flight of each task of a stage that waits for a remote service, live.

By Little's law the calls in flight are rate × seconds of a call, so a slot that may have m of them
works off m/c records/s as long as it has nothing else to do. The model knows how much of a record's
time is waiting, by the time of a call or by two numbers of them; the fewest calls are taken that
bring the load to the higher bound.
"""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.knobs import MAX_IN_FLIGHT, How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.bottleneck import MORE_CALLS
from trimtab.tuning.context import Context, Proposal

NAME = "max-pending"
SETTINGS = (MAX_IN_FLIGHT.name,)
MOVES = frozenset({Kind.CONCURRENCY, Kind.BATCH_OVERHEAD})
"""Shorter work leaves more of the trigger to what does not grow."""
BACKS_OFF = frozenset({Kind.REMOTE_RATE})

MOST_AT_ONCE = 8
"""Largest factor of one step: a service that is asked so much more may answer otherwise."""

CROWDED = 1.1
"""So many times less a second with more calls, and the service is crowded by them."""

WORTH = 0.9
"""Calls that do not reach the goal are taken only if they bring the load down by 10 %."""


def raise_(context: Context) -> Proposal | None:
    """The fewest calls in flight that hold the goal, else as many as one step allows if they help.

    None where no stage waits for calls.
    """
    now = context.settings.max_in_flight
    if now is None:
        return None
    most = min(MOST_AT_ONCE * now, int(MAX_IN_FLIGHT.maximum))
    for calls in range(now + 1, most + 1):
        offer = _proposal(context, calls, raises=True)
        if offer.predicted <= context.band.higher and not context.policy.maximum:
            return offer
    best = _proposal(context, min(2 * now, most) if context.policy.maximum else most, raises=True)
    return best if most > now and best.predicted < WORTH * context.load.value else None


def back_off(context: Context) -> Proposal | None:
    """Half the calls, where more of them were seen to get less out of the service in all.

    A service that is crowded answers each call so much later that fewer at once are more a second.
    None where nothing shows that.
    """
    now, lost = context.settings.max_in_flight, crowding(context)
    if now is None or now <= 1 or lost <= CROWDED:
        return None
    settings = replace(context.settings, max_in_flight=now // 2)
    predicted = context.load.value / lost
    return Proposal(NAME, How.LIVE, settings, predicted, raises=True, reason=Reason.CALLS_LOWERED)


def crowding(context: Context) -> float:
    """The factor by which fewer calls got more out of the service; 1 where none is known.

    Seen now against the fastest call so far, or between this number of calls and a larger one.
    """
    now, fastest = context.settings.max_in_flight or 0, context.memory.fastest
    signals = context.snapshot.signals
    factor = 1.0
    if signals and signals.pending_calls and signals.pending_call_s and fastest:
        more = signals.pending_calls / fastest.calls
        if more >= MORE_CALLS:
            factor = signals.pending_call_s / fastest.seconds / more
    weights = {
        p.in_flight: p.slot_seconds / p.records
        for p in sorted(context.memory.points, key=lambda p: p.records)
        if p.slots == context.slots and p.in_flight >= now
    }
    if now in weights:
        factor = max(factor, *(weight / weights[now] for weight in weights.values()))
    return factor


def release(context: Context) -> Proposal | None:
    """Fewer calls, if one fewer would still be loaded below the lower bound.

    Only where no executor can go: those cost, calls in flight do not.
    """
    now = context.settings.max_in_flight
    fewest = context.settings.executors <= context.policy.min_executors
    if now is None or now <= 1 or not fewest or context.policy.maximum:
        return None
    if _slots_load(context, now - 1) >= context.band.lower:
        return None
    for calls in range(1, now):
        offer = _proposal(context, calls, raises=False)
        if _slots_load(context, calls) <= context.clear and offer.predicted <= context.band.higher:
            return offer
    return None


def _slots_load(context: Context, calls: int) -> float:
    settings = replace(context.settings, max_in_flight=calls)
    return context.slots_load(settings)


def _proposal(context: Context, calls: int, *, raises: bool) -> Proposal:
    settings = replace(context.settings, max_in_flight=calls)
    # of a late batch it is not known what made it late
    if raises and context.model.apart and context.late is None:
        context = replace(context, model=context.model.apart)
    reason = Reason.CALLS_RAISED if raises else Reason.CALLS_LOWERED
    return context.offer(NAME, How.LIVE, settings, reason, raises=raises)

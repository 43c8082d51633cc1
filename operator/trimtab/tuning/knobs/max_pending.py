"""Max-pending: calls in flight of each task of a stage that waits for a remote service, live.

By Little's law the calls in flight are rate × seconds of a call, so a slot that may have m of them
works off m/c records/s as long as it has nothing else to do. The model knows how much of a record's
time is waiting, by the time of a call or by two numbers of them; the fewest calls are taken that
bring the load to the higher bound. They stay when the load falls (docs/decisions/0020): a call that
is not made costs nothing.
"""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.knobs import MAX_IN_FLIGHT, How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.bottleneck import MORE_CALLS
from trimtab.tuning.context import Context, Proposal

NAME, BACK_OFF = "max-pending", "back-off"
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
    context = _by_call_time(context)
    most = min(MOST_AT_ONCE * now, int(MAX_IN_FLIGHT.maximum))
    for calls in range(now + 1, most + 1):
        offer = _proposal(context, calls)
        if offer.predicted <= context.band.higher and not context.policy.maximum:
            return offer
    best = _proposal(context, most)
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
    lowered = Reason.CALLS_LOWERED
    return Proposal(BACK_OFF, How.LIVE, settings, predicted, raises=True, reason=lowered)


def crowding(context: Context) -> float:
    """The factor by which fewer calls got more out of the service; 1 where none is known.

    Seen now against the fastest call so far, or between this number of calls and the next larger.
    """
    now, fastest = context.settings.max_in_flight or 0, context.memory.fastest
    signals = context.snapshot.signals
    factor = 1.0
    if signals and signals.pending_calls and signals.pending_call_s and fastest:
        times = signals.pending_calls / fastest.calls
        if times >= MORE_CALLS:
            factor = signals.pending_call_s / fastest.seconds / times
    weights = {
        p.in_flight: p.slot_seconds / p.records
        for p in sorted(context.memory.points, key=lambda p: p.records)
        if p.slots == context.slots and p.in_flight >= now
    }
    more = min((calls for calls in weights if calls > now), default=None)
    if now in weights and more is not None:
        factor = max(factor, weights[more] / weights[now])
    return factor


def _proposal(context: Context, calls: int) -> Proposal:
    settings = replace(context.settings, max_in_flight=calls)
    return context.offer(NAME, How.LIVE, settings, Reason.CALLS_RAISED, raises=True)


def _by_call_time(context: Context) -> Context:
    """The context with the model of the time of a call, where no slope tells what is beside it.

    A slope of small batches is half noise; of a late batch it is not known what made it late.
    """
    model = context.model
    unsure = not model.fixed or context.extrapolates
    if model.apart is None or not unsure or context.late is not None:
        return context
    return replace(context, model=model.apart)

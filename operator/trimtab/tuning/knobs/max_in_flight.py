"""maxInFlight: calls in flight per task of a stage that waits for a remote service, changed live.

By Little's law the calls in flight are rate × c, the seconds of a call, so a slot with m calls
processes m/c records/s as long as it has nothing else to do. The model knows how much of a record's
time is waiting, from the time of a call or from two settings of the knob; it takes the fewest calls
that bring the load to the higher bound. They stay when the load falls (docs/decisions/0020): unused
calls cost nothing.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from trimtab.api.knobs import MAX_IN_FLIGHT, MAX_OFFSETS
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.capacity.fit import MORE_CALLS
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.knobs.batch_limit import how_with, needed_rate, unthrottled
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.settings import Settings
from trimtab.tuning.trials.comparison import Comparison, more_capacity

MOST_AT_ONCE = 8
"""Largest factor of one step: a service may behave differently under a much higher load."""

START_S = 1e-4
"""Seconds of work for each call, however short: Python workers started up to 7,800 calls/s. So more
than c / START_S calls are hardly ever in flight."""

PROBE = 2
"""Largest factor of a step beyond that: the machine may be a faster one."""

CROWDED = 1.1
"""More calls crowd the service if its throughput drops by more than this factor."""

WORTH = 0.9
"""Calls that do not reach the goal are used only if they reduce the load by 10 %."""


class MaxInFlight(Knob):
    """More calls in flight."""

    name = "max-in-flight"
    values = (MAX_IN_FLIGHT, MAX_OFFSETS)
    moves = frozenset({Kind.CONCURRENCY, Kind.BATCH_OVERHEAD})  # less work leaves more of a trigger
    shortens_batches: ClassVar[bool] = True
    fallback: ClassVar[bool] = True

    def raise_(self, context: Context) -> Proposal | None:
        """The fewest calls in flight that meet the goal, else as many as one step allows.

        The latter only if they clearly help. None if no stage makes calls, or if one step allows so
        few more that no trial could tell what they do.
        """
        now = context.settings.max_in_flight
        if now is None:
            return None
        context = _by_call_time(context)
        least, most = _least(context, now), _most(context, now)
        for calls in range(least, most + 1):
            offer = self._offer(context, calls)
            if offer.predicted <= context.band.higher and not context.policy.maximum:
                return offer
        best = self._offer(context, most)
        return best if most >= least and best.predicted < WORTH * context.load.value else None

    def at_best(self, context: Context, model: Model) -> Model | None:
        """As many calls as allowed, unless a user pinned them.

        None if the service is crowded: the effect of fewer calls is unknown.
        """
        if not context.settings.max_in_flight or MAX_IN_FLIGHT.name in context.policy.pinned:
            return model
        if crowding(context) > CROWDED:
            return None
        return model.by_call_time.with_in_flight(int(MAX_IN_FLIGHT.maximum))

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """Judge by capacity: more calls should raise it."""
        return more_capacity(seen)

    def _offer(self, context: Context, calls: int) -> Proposal:
        settings = _with_limit(context, calls)
        how = how_with(context, settings, self.how)
        return context.offer(self.name, how, settings, Reason.CALLS_RAISED, raises=True)


class BackOff(Knob):
    """Fewer calls in flight, for a crowded service: it then answers more of them."""

    name = "back-off"
    values = (MAX_IN_FLIGHT,)
    moves = frozenset({Kind.REMOTE_RATE})

    def raise_(self, context: Context) -> Proposal | None:
        """Half the calls, if more of them were seen to lower the service's total throughput.

        A crowded service answers each call so much later that fewer at once mean more per second.
        None if there is no evidence of that.
        """
        now, lost = context.settings.max_in_flight, crowding(context)
        if now is None or now <= 1 or lost <= CROWDED:
            return None
        settings = replace(context.settings, max_in_flight=now // 2)
        predicted = context.load.value / lost
        lowered = Reason.CALLS_LOWERED
        return Proposal(self.name, self.how, settings, predicted, raises=True, reason=lowered)

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """If fewer calls carry as much, there were too many."""
        return more_capacity(seen)


KNOB, BACK_OFF = MaxInFlight(), BackOff()


def crowding(context: Context) -> float:
    """The factor by which fewer calls got more out of the service; 1 if none is known.

    Compares calls now with the fastest so far, or this number of calls with the next larger.
    """
    now, fastest = context.settings.max_in_flight or 0, context.memory.fastest
    signals = context.snapshot.signals
    factor = 1.0
    if signals and signals.pending_calls and signals.pending_call_s and fastest:
        times = signals.pending_calls / fastest.calls
        if times >= MORE_CALLS:
            factor = signals.pending_call_s / fastest.seconds / times
    weights = {
        p.in_flight: p.slot_s
        for p in sorted(context.memory.points, key=lambda p: p.records)
        if p.slots == context.slots and p.in_flight >= now
    }
    more = min((calls for calls in weights if calls > now), default=None)
    if now in weights and more is not None:
        factor = max(factor, weights[more] / weights[now])
    return factor


def _least(context: Context, now: int) -> int:
    """The fewest calls of a step whose trial can tell what they do; the rate tells finer."""
    return now + 1 if context.policy.maximum else math.ceil(MORE_CALLS * now)


def _most(context: Context, now: int) -> int:
    """The most calls that one step allows."""
    signals = context.snapshot.signals
    call_s = signals.pending_call_s if signals else None
    busy = round(call_s / START_S) if call_s else MOST_AT_ONCE * now
    busy = busy if busy > now else PROBE * now
    return min(busy, MOST_AT_ONCE * now, int(MAX_IN_FLIGHT.maximum))


def _with_limit(context: Context, calls: int) -> Settings:
    """The settings with more calls; a limit that would throttle them grows in proportion.

    A batch of as many times the records takes as long, if all of it waits.
    """
    now = context.settings
    settings = replace(now, max_in_flight=calls)
    model = context.model.with_in_flight(calls)
    needed = needed_rate(context, model, context.slots)
    most = now.max_offsets * calls / (now.max_in_flight or 1)
    if context.memory.points:  # a cold batch shows too little capacity
        most = min(most, max(1.0, needed * now.trigger_s))  # without a trigger nothing fills
    return unthrottled(context, model, settings, needed=needed, most=most)


def _by_call_time(context: Context) -> Context:
    """The context with the call-time model, if no sure slope shows the work other than calls.

    The slope of small batches is half noise, and a size that was hardly seen may be slow because
    the driver is cold: more calls are tried then, since they cost nothing. Not under a goal of
    `max`, where each trial delays all others. For a late batch the cause of the delay is unknown.
    """
    model = context.model
    sure = model.fixed > 0 if context.policy.maximum else model.sure(context.slots)
    if (sure and not context.extrapolates) or context.late is not None:
        return context
    return replace(context, model=model.by_call_time)

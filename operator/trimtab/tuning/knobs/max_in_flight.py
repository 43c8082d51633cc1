"""Max-pending: calls in flight of each task of a stage that waits for a remote service, live.

By Little's law the calls in flight are rate × seconds of a call, so a slot that may have m of them
works off m/c records/s as long as it has nothing else to do. The model knows how much of a record's
time is waiting, by the time of a call or by two numbers of them; the fewest calls are taken that
bring the load to the higher bound. They stay when the load falls (docs/decisions/0020): a call that
is not made costs nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from trimtab.api.knobs import MAX_IN_FLIGHT
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.diagnosis.bottleneck import MORE_CALLS
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.trials.comparison import Comparison, more_capacity

MOST_AT_ONCE = 8
"""Largest factor of one step: a service that is asked so much more may answer otherwise."""

CROWDED = 1.1
"""So many times less a second with more calls, and the service is crowded by them."""

WORTH = 0.9
"""Calls that do not reach the goal are taken only if they bring the load down by 10 %."""


class MaxInFlight(Knob):
    """More calls in flight."""

    name = "max-in-flight"
    values = (MAX_IN_FLIGHT,)
    moves = frozenset({Kind.CONCURRENCY, Kind.BATCH_OVERHEAD})  # less work leaves more of a trigger
    shortens_batches: ClassVar[bool] = True

    def raise_(self, context: Context) -> Proposal | None:
        """The fewest calls in flight that hold the goal, else as many as one step allows.

        The latter only if they clearly help. None where no stage waits for calls.
        """
        now = context.settings.max_in_flight
        if now is None:
            return None
        context = _by_call_time(context)
        most = min(MOST_AT_ONCE * now, int(MAX_IN_FLIGHT.maximum))
        for calls in range(now + 1, most + 1):
            offer = self._offer(context, calls)
            if offer.predicted <= context.band.higher and not context.policy.maximum:
                return offer
        best = self._offer(context, most)
        return best if most > now and best.predicted < WORTH * context.load.value else None

    def at_best(self, context: Context, model: Model) -> Model | None:
        """As many calls as there may be, where a person does not keep them.

        None where the service is crowded: what fewer of them would give is not known.
        """
        if not context.settings.max_in_flight or MAX_IN_FLIGHT.name in context.policy.pinned:
            return model
        if crowding(context) > CROWDED:
            return None
        return model.by_call_time.with_in_flight(int(MAX_IN_FLIGHT.maximum))

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """More calls carry more."""
        return more_capacity(seen)

    def _offer(self, context: Context, calls: int) -> Proposal:
        settings = replace(context.settings, max_in_flight=calls)
        return context.offer(self.name, self.how, settings, Reason.CALLS_RAISED, raises=True)


class BackOff(Knob):
    """Fewer calls in flight, for a service that they crowd: it answers more of them then."""

    name = "back-off"
    values = (MAX_IN_FLIGHT,)
    moves = frozenset({Kind.REMOTE_RATE})

    def raise_(self, context: Context) -> Proposal | None:
        """Half the calls, where more of them were seen to get less out of the service in all.

        A service that is crowded answers each call so much later that fewer at once are more a
        second. None where nothing shows that.
        """
        now, lost = context.settings.max_in_flight, crowding(context)
        if now is None or now <= 1 or lost <= CROWDED:
            return None
        settings = replace(context.settings, max_in_flight=now // 2)
        predicted = context.load.value / lost
        lowered = Reason.CALLS_LOWERED
        return Proposal(self.name, self.how, settings, predicted, raises=True, reason=lowered)

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """Fewer calls that carry as much were too many."""
        return more_capacity(seen)


KNOB, BACK_OFF = MaxInFlight(), BackOff()


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


def _by_call_time(context: Context) -> Context:
    """The context with the model of the time of a call, where no slope tells what is beside it.

    A slope of small batches is half noise; of a late batch it is not known what made it late.
    """
    model = context.model
    unsure = not model.fixed or context.extrapolates
    if not unsure or context.late is not None:
        return context
    return replace(context, model=model.by_call_time)

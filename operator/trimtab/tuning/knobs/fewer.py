"""Fewer executors, against an overload that more of them may have made.

What executors share, such as brokers or a lock, can make many of them carry less than a few. Where
the most executors miss the goal and no other number was ever seen, half of them are tried: what
both carry then tells the model whether the capacity falls. Where it does, the search goes on: half
of those.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from trimtab.api.knobs import EXECUTORS
from trimtab.api.reasons import BottleneckKind, Reason
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.diagnosis.facts import Bottleneck
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.trials.comparison import Comparison, more_capacity

SURE = 8
"""Batches that show what a number of executors carries, even where some are slow by chance."""

CLEARLY = 1.25
"""An input over what executors carry that noise does not explain."""


class Fewer(Knob):
    """Half of the executors, on trial: they stay if they carry as much."""

    name = "fewer-executors"
    values = (EXECUTORS,)
    moves: frozenset[BottleneckKind] = frozenset()
    starts_executors: ClassVar[bool] = True
    fallback: ClassVar[bool] = True
    stays_unproven: ClassVar[bool] = False

    def raise_(self, context: Context) -> Proposal | None:
        """Half of the executors, if they miss the goal and neither more nor fewer may do better."""
        now, (least, most) = context.settings.executors, context.executor_range
        unneeded = context.policy.maximum or context.late or context.load.capacity < 1.0
        if unneeded or now // 2 < least:
            return None
        seen = {point.slots for point in context.memory.points}
        if min(seen, default=0) != context.slots:
            return None
        if len(seen) == 1 and not overloaded(context):
            return None
        if now < most and all(context.model.capacity(more) >= context.carried for more in seen):
            return None
        settings = replace(context.settings, executors=now // 2)
        lowered, load = Reason.EXECUTORS_LOWERED, context.load.value
        return Proposal(self.name, self.how, settings, load, raises=True, reason=lowered)

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """If fewer executors carry as much, there were too many."""
        return more_capacity(seen)

    def cause(self, context: Context, proposal: Proposal, bottleneck: Bottleneck) -> str:
        """Why fewer may be more."""
        del proposal
        words = f"{bottleneck.kind} ({bottleneck.evidence})"
        return f"{words}; how much fewer than {context.settings.executors} carry was never seen"


def overloaded(context: Context) -> bool:
    """Whether the input alone is too much, by far or even for the fastest of many batches.

    A few batches may be slow by chance, and what they leave behind is not what comes in.
    """
    here = [point for point in context.memory.points if point.slots == context.slots]
    sure = sum(point.batches for point in here) >= SURE
    least_s = min((point.least_s for point in here), default=0.0)
    return context.load.input_rate * least_s >= (1.0 if sure else CLEARLY)


KNOB = Fewer()

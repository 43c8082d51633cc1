"""Executors and the batch limit together, under a goal of `max`.

A batch that just fills the executors lets no further one carry more, and a larger batch gains
nothing on executors that are full. So where each alone has gained nothing, both go up in one step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from trimtab.api.knobs import EXECUTORS, MAX_OFFSETS, How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.capacity.load import admitted
from trimtab.tuning.context import Context, Proposal, near_highest
from trimtab.tuning.knobs.batch_limit import filling
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.settings import Settings
from trimtab.tuning.trials.comparison import Comparison, more_capacity


class Growth(Knob):
    """More executors, with the batches that fill them. The ladder tries either alone before it."""

    name = "executors-and-batch"
    values = (EXECUTORS, MAX_OFFSETS)
    moves = frozenset({Kind.CPU, Kind.CONCURRENCY, Kind.ADMISSION_LIMIT})
    how: ClassVar[How] = How.QUERY
    starts_executors: ClassVar[bool] = True
    oscillates: ClassVar[bool] = True

    def raise_(self, context: Context) -> Proposal | None:
        """The fewest executors that come near the highest rate, with a batch limit to match."""
        fixed = any(context.fixed(value.name) for value in self.values)
        if fixed or not context.policy.maximum:
            return None
        now, (_, most) = context.settings, context.executor_range
        rates = {
            settings: admitted(context.model, context.policy.capacity(settings).slots, settings)
            for settings in (_filled(context, p) for p in range(now.executors + 1, most + 1))
        }
        wanted = near_highest(rates)
        if wanted is None or wanted.max_offsets == now.max_offsets:
            return None
        return context.offer(self.name, self.how, wanted, Reason.EXECUTORS_RAISED, raises=True)

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """Judge by capacity, like executors alone."""
        return more_capacity(seen)


KNOB = Growth()


def _filled(context: Context, executors: int) -> Settings:
    """So many executors, with a batch limit that keeps them busy for the whole trigger."""
    limit = filling(context, executors * context.capacity.cores)
    limit = max(limit, context.settings.max_offsets)
    return replace(context.settings, executors=executors, max_offsets=limit)

"""Split: partitions of the source divided into more tasks (minPartitions), by a query restart.

One task reads one partition, so a hot partition delays its batch, and slots beyond the partitions
idle. Splitting into a multiple of the slots, in equal pieces, avoids both. It needs a user's
permission (`limits.tasks`): the records of a split partition are not written in order.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from trimtab.api.knobs import EXECUTORS, MIN_PARTITIONS, How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.knobs import parallelism
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings

PIECES = 2
"""Tasks per slot: with two, one badly cut piece delays the batch less."""


class Split(Knob):
    """The tasks that the source's partitions are split into; there is nothing to release."""

    name = "split"
    values = (MIN_PARTITIONS, EXECUTORS)
    moves = frozenset({Kind.SKEW, Kind.SOURCE_PARTITIONS})
    how: ClassVar[How] = How.QUERY

    def clamp(self, policy: Policy, settings: Settings) -> Settings:
        """No more tasks than a user allows; None if nothing is split."""
        most = policy.max_tasks
        tasks = None if most is None else min(settings.tasks(None), most)
        return replace(settings, min_partitions=tasks)

    def excess(self, policy: Policy, settings: Settings) -> str:
        """More tasks than the limit allows."""
        tasks = settings.min_partitions
        if tasks is None or tasks <= (policy.max_tasks or 1):
            return ""
        return f"{tasks} tasks are more than limits.tasks allows"

    def raise_(self, context: Context) -> Proposal | None:
        """Enough tasks for every slot, including those of executors that only then have work."""
        signals, most = context.snapshot.signals, context.policy.max_tasks
        if most is None or signals is None or not signals.partitions:
            return None
        executors = _executors(context, signals.partitions, most)
        slots = executors * context.capacity.cores
        tasks = min(most, math.ceil(max(PIECES * slots, signals.partitions + 1) / slots) * slots)
        if tasks <= context.model.tasks:
            return None
        settings = replace(context.settings, executors=executors, min_partitions=tasks)
        cut, reason = _cut(context, tasks), Reason.PARTITIONS_SPLIT
        return cut.offer(self.name, self.how, settings, reason, raises=True)

    def at_best(self, context: Context, model: Model) -> Model | None:
        """As many tasks as allowed."""
        return model.with_tasks(context.policy.max_tasks or 0)


KNOB = Split()


def _executors(context: Context, partitions: int, most: int) -> int:
    """The current executors, or those that the goal needs once partitions no longer bind."""
    now = context.settings.executors
    if context.slots < partitions:
        return now
    raised = parallelism.KNOB.raise_(_cut(context, most))
    return raised.settings.executors if raised else now


def _cut(context: Context, tasks: int) -> Context:
    """The pipeline as it would be with `tasks` tasks of equal size, so without skew."""
    signals = context.snapshot.signals
    share = signals.hottest_share if signals else None
    skew = max(1.0, (share or 0.0) * context.model.slots(context.slots))
    return replace(context, model=replace(context.model.slowed(1 / skew), tasks=tasks))

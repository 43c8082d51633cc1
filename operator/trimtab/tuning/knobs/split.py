"""Split: partitions of the source cut into more tasks (minPartitions), by a query restart.

One task reads one partition, so a hot partition holds its batch up, and slots beyond the partitions
idle. Cut into a multiple of the slots, in pieces of one size, neither does. It is only done where a
person allows it (`limits.tasks`): the records of a cut partition are not written in their order.
"""

from __future__ import annotations

import math
from dataclasses import replace

from trimtab.api.knobs import EXECUTORS, MIN_PARTITIONS, How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.knobs import parallelism

NAME = "split"
SETTINGS = (MIN_PARTITIONS.name, EXECUTORS.name)
MOVES = frozenset({Kind.SKEW, Kind.SOURCE_PARTITIONS})

PIECES = 2
"""Tasks for each slot: two even out what one that is cut badly would hold up."""


def raise_(context: Context) -> Proposal | None:
    """Cut into pieces for every slot; for the executors too that only then have work."""
    signals, most = context.snapshot.signals, context.policy.max_tasks
    if most is None or signals is None or not signals.partitions:
        return None
    executors = _executors(context, signals.partitions, most)
    slots = executors * context.policy.slots_per_executor
    tasks = min(most, math.ceil(max(PIECES * slots, signals.partitions + 1) / slots) * slots)
    if tasks <= context.model.tasks:
        return None
    settings = replace(context.settings, executors=executors, min_partitions=tasks)
    return _cut(context, tasks).offer(
        NAME, How.QUERY, settings, Reason.PARTITIONS_SPLIT, raises=True
    )


def release(context: Context) -> Proposal | None:
    """None: more tasks cost nothing that could be given back."""
    del context
    return None


def _executors(context: Context, partitions: int, most: int) -> int:
    """The present executors, or those that the goal needs once partitions no longer bind."""
    now = context.settings.executors
    if context.slots < partitions:
        return now
    raised = parallelism.raise_(_cut(context, most))
    return raised.settings.executors if raised else now


def _cut(context: Context, tasks: int) -> Context:
    """The pipeline as it would be with so many tasks of one size: without its skew."""
    signals = context.snapshot.signals
    share = signals.hottest_share if signals else None
    skew = max(1.0, (share or 0.0) * context.model.slots(context.slots))
    return replace(context, model=replace(context.model.slowed(1 / skew), tasks=tasks))

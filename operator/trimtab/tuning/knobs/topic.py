"""Topic: more partitions of the source's topic, where too few of them hold the pipeline back.

The last resort of the ladder: partitions cannot be taken away again, and the records of a key go to
another partition from then on. So it is offered only where a person allows it
(`limits.topicPartitions`), and asked for only after every knob that can be put back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from trimtab.api.knobs import EXECUTORS, TOPIC_PARTITIONS, How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.knobs import parallelism

NAME = "topic"
SETTINGS = (TOPIC_PARTITIONS.name, EXECUTORS.name)
MOVES = frozenset({Kind.SKEW, Kind.SOURCE_PARTITIONS})


@dataclass(frozen=True, slots=True)
class Wanted:
    """Partitions that would lift what holds the pipeline back, and the executors for them."""

    partitions: int
    executors: int


def wanted(context: Context, most: int = int(TOPIC_PARTITIONS.maximum)) -> Wanted | None:
    """The partitions that would help: a multiple of the slots, so that no slot idles in a wave.

    As many as the limits' slots at least, so that the keys move but once; and against skew as many
    as an even share of the slots asks for. None where `most` has no room for more.
    """
    signals = context.snapshot.signals
    if signals is None or not signals.partitions:
        return None
    per_executor, tasks = context.policy.slots_per_executor, context.model.tasks
    executors, least = context.settings.executors, tasks + 1
    if context.slots >= tasks:
        raised = parallelism.raise_(_grown(context, most))
        executors = raised.settings.executors if raised else executors
        executors = min(executors, max(context.settings.executors, most // per_executor))
        least = max(least, context.policy.max_executors * per_executor)
    slots = executors * per_executor
    if signals.hottest_share is not None:
        least = max(least, math.ceil(signals.partitions * signals.hottest_share * slots))
    partitions = min(math.ceil(least / slots), most // slots) * slots
    return Wanted(partitions, executors) if partitions > tasks else None


def advised(context: Context, kind: Kind) -> int | None:
    """The partitions to advise for a bottleneck; None where they are not what limits."""
    found = wanted(context) if kind in MOVES else None
    return found.partitions if found else None


def raise_(context: Context) -> Proposal | None:
    """As many partitions as would help and are allowed, with the executors that get work by it."""
    most = context.policy.max_topic_partitions
    found = None if most is None else wanted(context, most)
    if found is None:
        return None
    settings = replace(
        context.settings, executors=found.executors, topic_partitions=found.partitions
    )
    grown = _grown(context, found.partitions)
    return grown.offer(NAME, How.LIVE, settings, Reason.PARTITIONS_RAISED, raises=True)


def _grown(context: Context, partitions: int) -> Context:
    """The pipeline as it would be with so many partitions.

    The hottest one is hoped to share its keys with the new ones; where it is hot by one key, the
    trial will say so.
    """
    signals = context.snapshot.signals
    share, now = (signals.hottest_share, signals.partitions) if signals else (None, None)
    model = context.model
    if share and now:
        uneven = share * model.slots(context.slots)
        less = max(1.0, uneven * now / partitions) / max(1.0, uneven)
        model = model.slowed(min(1.0, less))
    return replace(context, model=replace(model, tasks=max(model.tasks, partitions)))

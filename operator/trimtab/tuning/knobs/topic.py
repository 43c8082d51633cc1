"""Topic: more partitions of the source's topic, if too few of them limit the pipeline.

The last resort of the ladder: partitions cannot be removed again, and the records of a key go to
another partition from then on. So it is offered only if a user allows it
(`limits.topicPartitions`), and only after every knob that can be reverted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from trimtab.api.knobs import EXECUTORS, TOPIC_PARTITIONS
from trimtab.api.reasons import Action, Reason
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.context import Context, Proposal, Veto
from trimtab.tuning.controller_state import Trial
from trimtab.tuning.knobs import parallelism
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Snapshot
from trimtab.tuning.trials.outcome import EXPIRES_S, Outcome

REFRESH_S = 330.0
"""Seconds after which Kafka's producers have seen new partitions: they look for them every 300 s
(`metadata.max.age.ms`, `topic.metadata.refresh.interval.ms`). Earlier batches do not count."""

UNEVEN = 1.5
"""Busiest partition over an even share, from which the new ones are taken as not yet written to."""


class Topic(Knob):
    """The partitions of the source's topic, requested from its KafkaCluster."""

    name = "topic"
    values = (TOPIC_PARTITIONS, EXECUTORS)
    moves = frozenset({Kind.SKEW, Kind.SOURCE_PARTITIONS})
    final: ClassVar[bool] = True
    expires_s: ClassVar[float] = EXPIRES_S + REFRESH_S

    def clamp(self, policy: Policy, settings: Settings) -> Settings:
        """No more than a user allows; None if none are requested."""
        asked, most = settings.topic_partitions, policy.max_topic_partitions
        asked = None if asked is None or most is None else min(asked, most)
        return replace(settings, topic_partitions=asked)

    def excess(self, policy: Policy, settings: Settings) -> str:
        """More partitions than the limit allows."""
        asked = settings.topic_partitions
        if asked is None or asked <= (policy.max_topic_partitions or 0):
            return ""
        return f"{asked} partitions are more than limits.topicPartitions allows"

    def veto(self, context: Context) -> Veto | None:
        """More partitions move keys: not for a stateful query, or if other readers would suffer."""
        signals, words = context.snapshot.signals, context.snapshot.constraints.topic_fixed
        if signals and signals.state_rows is not None:
            words = (
                "the query keeps state: with its keys in other partitions, older records of a key"
                " may come after newer ones and be dropped as late; raise the partitions by hand if"
                " that does no harm"
            )
        return Veto(Reason.TOPIC_FIXED, words) if words else None

    def raise_(self, context: Context) -> Proposal | None:
        """As many partitions as help and are allowed, and the executors that then have work."""
        most = context.policy.max_topic_partitions
        found = None if most is None else wanted(context, most)
        if found is None:
            return None
        settings = replace(
            context.settings, executors=found.executors, topic_partitions=found.partitions
        )
        grown, reason = _grown(context, found.partitions), Reason.PARTITIONS_RAISED
        return grown.offer(self.name, self.how, settings, reason, raises=True)

    def at_best(self, context: Context, model: Model) -> Model | None:
        """As many partitions, and so tasks, as allowed."""
        return model.with_tasks(context.policy.max_topic_partitions or 0)

    def applied(self, trial: Trial, snapshot: Snapshot) -> bool:
        """Whether the topic has the requested partitions; the driver plays no part."""
        del trial
        partitions = snapshot.signals.partitions if snapshot.signals else None
        return (partitions or 0) >= (snapshot.settings.topic_partitions or 0)

    def waits(self, trial: Trial, snapshot: Snapshot) -> str:
        """Whether the topic has new partitions that its producers may not have seen yet.

        The wait ends after their refresh interval, because a topic with a hot key stays uneven.
        """
        signals = snapshot.signals
        if signals is None or signals.hottest_share is None:
            return ""
        uneven = signals.hottest_share * (signals.partitions or 0) >= UNEVEN
        if not uneven or snapshot.now_s - trial.opened_at_s > REFRESH_S:
            return ""
        return "the topic's producers do not write to its new partitions yet"

    def failed(self, trial: Trial, snapshot: Snapshot) -> Outcome | None:
        """The topic was not given its partitions."""
        age_s = snapshot.now_s - trial.opened_at_s
        if age_s <= EXPIRES_S or self.applied(trial, snapshot):
            return None
        partitions = snapshot.signals.partitions if snapshot.signals else None
        return Outcome(
            Action.REVERT,
            Reason.TOPIC_NOT_RAISED,
            f"the topic still has {partitions} partitions after {age_s:.0f} s: the"
            " condition Ready of the KafkaCluster says why",
            trial.before,
        )

    def put_back(self, before: Settings, now: Settings) -> tuple[Settings, str]:
        """The partitions stay, and so does the request for them."""
        kept = replace(before, topic_partitions=now.topic_partitions)
        return kept, "the partitions stay, since none can be removed"


KNOB = Topic()


@dataclass(frozen=True, slots=True)
class Wanted:
    """Partitions that would relieve the bottleneck, and the executors for them."""

    partitions: int
    executors: int


def wanted(context: Context, most: int = int(TOPIC_PARTITIONS.maximum)) -> Wanted | None:
    """The partitions that would help: a multiple of the slots, so that no slot idles in a wave.

    At least as many as the most slots within the limits, so that keys move only once; against skew,
    as many as an even share per slot needs. None if `most` leaves no room for more.
    """
    signals = context.snapshot.signals
    if signals is None or not signals.partitions:
        return None
    cores, tasks = context.capacity.cores, context.model.tasks
    executors, least = context.settings.executors, tasks + 1
    if context.slots >= tasks:
        raised = parallelism.KNOB.raise_(_grown(context, most))
        executors = raised.settings.executors if raised else executors
        executors = min(executors, max(context.settings.executors, most // cores))
        least = max(least, context.executor_range[1] * cores)
    slots = executors * cores
    if signals.hottest_share is not None:
        least = max(least, math.ceil(signals.partitions * signals.hottest_share * slots))
    partitions = min(math.ceil(least / slots), most // slots) * slots
    return Wanted(partitions, executors) if partitions > tasks else None


def advised(context: Context, kind: Kind) -> int | None:
    """The partitions to advise for a bottleneck; None if they are not the limit."""
    found = wanted(context) if kind in KNOB.moves else None
    return found.partitions if found else None


def _grown(context: Context, partitions: int) -> Context:
    """The pipeline as it would be with `partitions` partitions.

    Assumes that the hottest one shares its keys with the new ones; if a single key makes it hot,
    the trial will show it.
    """
    signals = context.snapshot.signals
    share, now = (signals.hottest_share, signals.partitions) if signals else (None, None)
    model = context.model
    if share and now:
        uneven = share * model.slots(context.slots)
        less = max(1.0, uneven * now / partitions) / max(1.0, uneven)
        model = model.slowed(min(1.0, less))
    return replace(context, model=replace(model, tasks=max(model.tasks, partitions)))

"""Sending: how the Kafka sink's producer sends, in steps, each live and with its own trial.

The steps and their order are those of the producer tuner (`tuning/producer.py`) for a saturated
pipe: larger batches, then as many requests in flight as keep the order of a partition, then
compression. No model can predict the gain of a step before its trial: it depends on the round trip,
the broker and how well the records compress. A step that did not help is not tried again; the next
one follows. Once none has helped by itself, all three are tried together.
"""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.knobs import (
    COMPRESSIONS,
    PRODUCER_BATCH,
    PRODUCER_COMPRESSION,
    PRODUCER_IN_FLIGHT,
    PRODUCER_LINGER,
    How,
)
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.producer import ProducerSettings, Step, more, together
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Snapshot
from trimtab.tuning.trials.comparison import Comparison, lighter_or_faster

NAMES = {
    Step.BATCH: "producer-batch",
    Step.IN_FLIGHT: "producer-in-flight",
    Step.COMPRESSION: "producer-compression",
}
VALUES = {
    Step.BATCH: (PRODUCER_BATCH, PRODUCER_LINGER),
    Step.IN_FLIGHT: (PRODUCER_IN_FLIGHT,),
    Step.COMPRESSION: (PRODUCER_COMPRESSION,),
}

HOPED = 0.5
"""Assumed share of the writing time that a step saves."""

FEWEST = 2
"""Steps that are left, below which there is nothing to combine."""

LINGER_MS = 5
"""Minimum time for a larger batch to fill."""


class Sending(Knob):
    """One step of how the sink's producer sends."""

    moves = frozenset({Kind.SINK})

    def __init__(self, step: Step) -> None:
        self.step, self.name, self.values = step, NAMES[step], VALUES[step]

    def raise_(self, context: Context) -> Proposal | None:
        """One step of the producer, if writing is known to take part of the batch."""
        wanted = more(producer(context.settings)).get(self.step)
        if wanted is None:
            return None
        return _offer(context, self.name, _with(self.step, context, wanted))

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """A faster sink raises the rate while there is a backlog, else it lowers the load."""
        return lighter_or_faster(seen)


class Together(Knob):
    """All steps at once, after each that was left has failed by itself."""

    name = "producer"
    values = tuple(value for each in VALUES.values() for value in each)
    moves = frozenset({Kind.SINK})

    def raise_(self, context: Context) -> Proposal | None:
        """Large batches, several in flight and compression, if none of them helped alone."""
        now = producer(context.settings)
        left = more(now)
        failed = {verdict.knob for verdict in context.memory.verdicts if verdict.raises}
        if len(left) < FEWEST or not {NAMES[step] for step in left} <= failed:
            return None
        wanted, settings = together(now), context.settings
        for step in left:
            settings = _with(step, replace(context, snapshot=_at(context, settings)), wanted)
        return _offer(context, self.name, settings)

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """As each step by itself."""
        return lighter_or_faster(seen)


KNOBS: tuple[Knob, ...] = (*(Sending(step) for step in NAMES), Together())


def _offer(context: Context, name: str, settings: Settings) -> Proposal | None:
    """The change, with the gain that is hoped for; None if nothing is sent or known of it."""
    hoped = writing_less(context)
    if not context.policy.sends or hoped is None:
        return None
    return hoped.offer(name, How.LIVE, settings, Reason.PRODUCER_CHANGED, raises=True)


def writing_less(context: Context) -> Context | None:
    """The context if writing took as little time as is hoped for; None if its time is unknown."""
    signals = context.snapshot.signals
    batch = signals.batch if signals else None
    if batch is None or not batch.sink_s:
        return None
    share = min(1.0, batch.sink_s / max(batch.duration_s - batch.overhead_s, 1e-3))
    return replace(context, model=context.model.slowed(1 - HOPED * share))


def _at(context: Context, settings: Settings) -> Snapshot:
    return replace(context.snapshot, settings=settings)


def producer(settings: Settings) -> ProducerSettings:
    """The producer's settings; unset values keep Kafka's defaults."""

    def value(said: int | None, default: float) -> int:
        return int(default if said is None else said)

    compression = value(settings.producer_compression, PRODUCER_COMPRESSION.default)
    return ProducerSettings(
        batch_bytes=value(settings.producer_batch, PRODUCER_BATCH.default),
        in_flight=value(settings.producer_in_flight, PRODUCER_IN_FLIGHT.default),
        compression=COMPRESSIONS[compression],
        linger_ms=value(settings.producer_linger_ms, PRODUCER_LINGER.default),
    )


UNSAID = producer(Settings(executors=1, trigger_s=0.0, max_offsets=1))
"""The producer's settings if all are unset."""


def _with(step: Step, context: Context, wanted: ProducerSettings) -> Settings:
    """The settings with that step; a linger that a user pinned or locked stays."""
    now = context.settings
    if step is Step.IN_FLIGHT:
        return replace(now, producer_in_flight=wanted.in_flight)
    if step is Step.COMPRESSION:
        return replace(now, producer_compression=COMPRESSIONS.index(wanted.compression))
    larger = replace(now, producer_batch=wanted.batch_bytes)
    kept = {*context.policy.pinned, *context.policy.locked}
    if PRODUCER_LINGER.name in kept or wanted.linger_ms >= LINGER_MS:
        return larger
    return replace(larger, producer_linger_ms=LINGER_MS)

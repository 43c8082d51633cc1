"""Sending: how the Kafka sink's producer sends, in three steps, each live and with its own trial.

The steps and their order are those of the producer tuner (`tuning/producer.py`) for a saturated
pipe: larger batches, then as many requests in flight as keep the order of a partition, then
compression. No model can predict the gain of a step before its trial: it depends on the round trip,
the broker and how well the records compress. A step that did not help is not tried again; the next
one follows.
"""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.knobs import (
    COMPRESSIONS,
    PRODUCER_BATCH,
    PRODUCER_COMPRESSION,
    PRODUCER_IN_FLIGHT,
    PRODUCER_LINGER,
)
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.producer import ProducerSettings, Step, more
from trimtab.tuning.settings import Settings
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

LINGER_MS = 5
"""Minimum time for a larger batch to fill."""


class Sending(Knob):
    """One step of how the sink's producer sends."""

    moves = frozenset({Kind.SINK})

    def __init__(self, step: Step) -> None:
        self.step, self.name, self.values = step, NAMES[step], VALUES[step]

    def raise_(self, context: Context) -> Proposal | None:
        """One step of the producer, if writing is known to take part of the batch."""
        signals = context.snapshot.signals
        batch = signals.batch if signals else None
        if not context.policy.sends or batch is None or not batch.sink_s:
            return None
        wanted = more(producer(context.settings)).get(self.step)
        if wanted is None:
            return None
        share = min(1.0, batch.sink_s / max(batch.duration_s - batch.overhead_s, 1e-3))
        hoped = replace(context, model=context.model.slowed(1 - HOPED * share))
        settings = _with(self.step, context, wanted)
        return hoped.offer(self.name, self.how, settings, Reason.PRODUCER_CHANGED, raises=True)

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """A faster sink raises the rate while there is a backlog, else it lowers the load."""
        return lighter_or_faster(seen)


KNOBS = tuple(Sending(step) for step in NAMES)


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

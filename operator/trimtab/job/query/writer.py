"""The one way out of a query: a foreachBatch writer behind the gate.

The producer's options and the limit of pending calls are read anew at each batch, so they change
from one batch to the next without a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from trimtab.api.contract import Sink
from trimtab.api.knobs import (
    MAX_IN_FLIGHT,
    PRODUCER_BATCH,
    PRODUCER_COMPRESSION,
    PRODUCER_IN_FLIGHT,
    PRODUCER_LINGER,
)
from trimtab.errors import TransformError
from trimtab.job.batches import ledger
from trimtab.job.batches.progress import SINK
from trimtab.job.batches.timing import Split
from trimtab.job.clock import Clock, monotonic_s
from trimtab.job.lifecycle.boundary import Gate
from trimtab.job.pending.stage import LIMIT_PROPERTY

KAFKA_TYPES = {"string", "binary"}

PRODUCER = {
    PRODUCER_IN_FLIGHT: "kafka.max.in.flight.requests.per.connection",
    PRODUCER_BATCH: "kafka.batch.size",
    PRODUCER_LINGER: "kafka.linger.ms",
    PRODUCER_COMPRESSION: "kafka.compression.type",
}
"""The producer's option for each knob of it."""

SAFE = {"kafka.enable.idempotence": "true"}
"""Kafka's own default, but said: then a producer that could not keep the order refuses to start,
instead of giving up idempotence without a word. It needs at most 5 requests in flight."""


@dataclass(slots=True)
class Live:
    """What holds for the next batch; the writer reads it when a batch begins."""

    producer: Mapping[str, str] = field(default_factory=lambda: dict(SAFE))
    max_in_flight: int = int(MAX_IN_FLIGHT.default)

    def set(self, knobs: Mapping[str, float]) -> None:
        """Take the live knobs over; one that is not said has its default again."""
        self.producer = producer_options(knobs)
        self.max_in_flight = int(knobs.get(MAX_IN_FLIGHT.name, MAX_IN_FLIGHT.default))


def producer_options(knobs: Mapping[str, float]) -> dict[str, str]:
    """The options of the Kafka sink for those knobs that are set."""
    said = {option: knob for knob, option in PRODUCER.items() if knob.name in knobs}
    return SAFE | {option: knob.format(knobs[knob.name]) for option, knob in said.items()}


def prepare(frame: DataFrame, sink: Sink) -> DataFrame:
    """The frame as it is handed to the writer, its side of the ledger observed on the way.

    Raises:
        TransformError: the columns do not suit the sink.
    """
    frame = frame.observe(SINK, *ledger.observations(frame.columns))
    return _kafka_columns(frame) if sink.kind == "kafka" else frame


def _kafka_columns(frame: DataFrame) -> DataFrame:
    types = dict(frame.dtypes)
    if types.get("value") not in KAFKA_TYPES:
        found = types.get("value", "missing")
        raise TransformError(
            f"a Kafka sink needs a column `value` of string or binary, it is {found}: "
            "select it, e.g. CAST(... AS STRING) AS value or to_json(struct(...)) AS value"
        )
    if types.get("key", "binary") not in KAFKA_TYPES:
        raise TransformError(f"the column `key` must be string or binary, it is {types['key']}")
    # Spark would take columns named topic or partition as where to write to
    keep = [c for c in frame.columns if c in {"key", "value", "headers"}]
    return frame.select(*keep)


class BatchWriter:
    """What Spark calls once a batch."""

    def __init__(
        self,
        sink: Sink,
        gate: Gate,
        live: Live,
        begin: Callable[[int], bool],
        written: Callable[[Split | None], None],
        *,
        clock: Clock = monotonic_s,
    ) -> None:
        """`begin` hears the id of each batch that passes the gate, and says whether to time it.

        `written` follows its write, with what was measured if it was timed. `clock` gives seconds
        that only grow.
        """
        self._sink = sink
        self._gate = gate
        self._live = live
        self._begin = begin
        self._written = written
        self._clock = clock
        self.failure: Exception | None = None
        """What the last write raised."""

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Write one batch; raises GateClosedError instead when the query is stopping."""
        self._gate.enter(batch_id)
        timed = self._begin(batch_id)
        limit = str(self._live.max_in_flight)
        frame.sparkSession.sparkContext.setLocalProperty(LIMIT_PROPERTY, limit)
        try:
            split = self._write_timed(frame) if timed else None
            if not timed:
                self._write(frame)
        except Exception as error:
            self.failure = error
            raise
        self._written(split)

    def _write_timed(self, frame: DataFrame) -> Split:
        """Work the batch out, then write it; every row is made once and written once."""
        frame.persist()
        try:
            began_s = self._clock()
            frame.count()  # asks for every row of it, so that all are kept
            worked_out_s = self._clock()
            self._write(frame)
            return Split(worked_out_s - began_s, self._clock() - worked_out_s)
        finally:
            frame.unpersist()

    def _write(self, frame: DataFrame) -> None:
        if self._sink.kind == "noop":
            frame.write.format("noop").mode("append").save()
            return
        target = {
            "kafka.bootstrap.servers": self._sink.bootstrap_servers or "",
            "topic": self._sink.topic or "",
        }
        frame.write.format("kafka").options(**{**self._live.producer, **target}).save()

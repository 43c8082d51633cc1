"""Writes all batches of a query: a foreachBatch function behind the gate, for any sink.

It reads the limit of calls in flight at each batch, so the limit changes without a restart.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from trimtab.api.knobs import MAX_IN_FLIGHT
from trimtab.job.batches import ledger
from trimtab.job.batches.progress import SINK
from trimtab.job.batches.timing import Split
from trimtab.job.clock import Clock, monotonic_s
from trimtab.job.lifecycle.boundary import Gate
from trimtab.job.pending.stage import LIMIT_PROPERTY
from trimtab.job.query.causes import RAISED
from trimtab.job.query.protocols import Sink

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Live:
    """The live knobs; the writer reads them when a batch begins."""

    sink: Sink
    max_in_flight: int = int(MAX_IN_FLIGHT.default)

    def set(self, knobs: Mapping[str, float]) -> None:
        """Set the live knobs; unset knobs get their defaults."""
        self.sink.follow(knobs)
        self.max_in_flight = int(knobs.get(MAX_IN_FLIGHT.name, MAX_IN_FLIGHT.default))


def prepare(frame: DataFrame, sink: Sink) -> DataFrame:
    """The frame as the writer gets it, with its side of the ledger observed.

    Raises:
        TransformError: the columns do not fit the sink.
    """
    return sink.prepare(frame.observe(SINK, *ledger.observations(frame.columns)))


class BatchWriter:
    """The function that Spark calls for each batch."""

    def __init__(
        self,
        gate: Gate,
        live: Live,
        begin: Callable[[int], bool],
        written: Callable[[Split | None], None],
        *,
        clock: Clock = monotonic_s,
    ) -> None:
        """`begin` gets the id of each batch that passes the gate and returns whether to time it.

        `written` is called after the write, with the measurement if the batch was timed. `clock`
        is monotonic.
        """
        self._gate = gate
        self._live = live
        self._begin = begin
        self._written = written
        self._clock = clock
        self.failure: Exception | None = None
        """The exception of the last write that failed."""

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Write one batch; raises GateClosedError instead if the query is stopping."""
        self._gate.enter(batch_id)
        try:
            timed = self._begin(batch_id)
            limit = str(self._live.max_in_flight)
            frame.sparkSession.sparkContext.setLocalProperty(LIMIT_PROPERTY, limit)
            split = self._write_timed(frame, batch_id) if timed else None
            if split is None:
                self._live.sink.write(frame, batch_id)
        except Exception as error:
            self.failure = error
            raise
        self._written(split)

    def _write_timed(self, frame: DataFrame, batch_id: int) -> Split | None:
        """Compute the batch, then write it; every row is computed once and written once.

        None: it cannot be computed, and nothing is written. The sink may know what to do.
        """
        frame.persist()
        try:
            began_s = self._clock()
            try:
                frame.count()  # computes every row, so that all are cached
            except RAISED as error:
                log.info("batch %d cannot be timed: %s", batch_id, type(error).__name__)
                return None
            worked_out_s = self._clock()
            self._live.sink.write(frame, batch_id)
            return Split(worked_out_s - began_s, self._clock() - worked_out_s)
        finally:
            frame.unpersist()

"""A sink that writes nothing: shows how fast the rest of a query is."""

from __future__ import annotations

from pyspark.sql import DataFrame

from trimtab.api import endpoints
from trimtab.job.query.sinks.plain import PlainSink


class NoopSink(PlainSink):
    """Computes every record and discards it."""

    phases = ()
    on_replay = "nothing is written"

    def __init__(self, _document: endpoints.NoopSinkDocument) -> None:
        """It needs no configuration."""

    def write(self, frame: DataFrame, batch_id: int) -> None:
        """Compute the batch."""
        del batch_id
        frame.write.format("noop").mode("append").save()

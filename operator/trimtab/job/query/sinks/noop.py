"""The sink that writes nothing: to see what the rest of a query can do."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from trimtab.api import contract


class NoopSink:
    """Computes every record and throws it away."""

    knobs = ()
    phases = ()
    on_replay = "nothing is written"

    def __init__(self, _document: contract.NoopSink) -> None:
        """There is nothing to know of it."""

    def require(self) -> None:
        """It is always there."""

    def prepare(self, frame: DataFrame) -> DataFrame:
        """Any columns suit it."""
        return frame

    def follow(self, knobs: Mapping[str, float]) -> None:
        """It has no knobs."""

    def write(self, frame: DataFrame, batch_id: int) -> None:
        """Compute the batch."""
        del batch_id
        frame.write.format("noop").mode("append").save()

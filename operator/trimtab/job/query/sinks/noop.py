"""A sink that writes nothing: shows how fast the rest of a query is."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from trimtab.api import endpoints


class NoopSink:
    """Computes every record and discards it."""

    knobs = ()
    ignores = ()
    phases = ()
    on_replay = "nothing is written"
    session_conf: Mapping[str, str] = {}

    def __init__(self, _document: endpoints.NoopSinkDocument) -> None:
        """It needs no configuration."""

    def require(self) -> None:
        """It always exists."""

    def arrived(self) -> int | None:
        """It keeps nothing."""
        return None

    def prepare(self, frame: DataFrame) -> DataFrame:
        """Accept any columns."""
        return frame

    def follow(self, knobs: Mapping[str, float]) -> None:
        """It has no knobs."""

    def write(self, frame: DataFrame, batch_id: int) -> None:
        """Compute the batch."""
        del batch_id
        frame.write.format("noop").mode("append").save()

"""What sinks have in common that need nothing of Kafka: the defaults of a `Sink`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark.sql import DataFrame

from trimtab.api.knobs import SINK_WRITERS, WRITERS
from trimtab.errors import TransformError


class PlainSink:
    """A sink without knobs that takes any columns; its module says what it writes, and how."""

    knobs: Collection[str] = ()
    ignores: Collection[str] = ()
    phases: Collection[str] = ("sink",)
    session_conf: Mapping[str, str] = {}
    spent_s: Mapping[str, float] = {}

    def require(self) -> None:
        """It exists, or the first batch makes it."""

    def arrived(self) -> int | None:
        """It counts no records."""
        return None

    def prepare(self, frame: DataFrame) -> DataFrame:
        """Accept any columns."""
        return frame

    def follow(self, knobs: Mapping[str, float]) -> None:
        """It has no knobs."""


class StoringSink(PlainSink):
    """A sink into which tasks of a batch write, each a file or over a connection of its own."""

    knobs: Collection[str] = (SINK_WRITERS.name,)
    _by_slots = False

    def follow(self, knobs: Mapping[str, float]) -> None:
        """Set how many tasks write the next batch."""
        self._by_slots = knobs.get(SINK_WRITERS.name) == WRITERS.index("Slots")

    def spread(self, frame: DataFrame) -> DataFrame:
        """The batch in as many partitions as are to write it."""
        if not self._by_slots:
            return frame
        # of executors, all cores that have registered, so it follows their number
        return frame.repartition(frame.sparkSession.sparkContext.defaultParallelism)


def require_columns(frame: DataFrame, columns: list[str], where: str) -> None:
    """Raise TransformError if the transform does not return some of the columns."""
    if missing := sorted(set(columns) - set(frame.columns)):
        raise TransformError(
            f"{where} names {', '.join(missing)}, which the transform does not return: it returns"
            f" {', '.join(frame.columns)}"
        )

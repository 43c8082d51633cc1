"""Rows that Spark makes by itself: there is no Kafka, and no lag that anybody could ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession

from trimtab.api import contract, endpoints
from trimtab.job.batches import ledger
from trimtab.job.batches.progress import SOURCE
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.offset_log import Offsets
from trimtab.job.query.protocols import VIEW
from trimtab.job.query.sources import ages
from trimtab.job.query.sources.plain import PlainSource


class RateSource(PlainSource):
    """Makes so many rows for each second since the checkpoint began, which are its offsets.

    So the rows of a pause are made after it, all at once, with the times at which they were due.
    """

    on_replay = "the same rows are made again"

    def __init__(self, document: endpoints.RateSourceDocument, aside: int | None = None) -> None:
        """Every row can be read, so `aside` means nothing."""
        del aside
        self._rows = document.rows_per_second
        self._partitions = document.partitions
        self._options = {
            "rowsPerSecond": str(self._rows),
            "numPartitions": str(self._partitions),
        }

    def partition_count(self) -> int:
        """Tasks that make the rows of a batch."""
        return self._partitions

    def reads(self, option: Callable[[str], str | None]) -> bool:
        """Whether a stream with these options makes the same rows."""
        return all(option(name) == value for name, value in self._options.items())

    def planned(self, checkpoint: Checkpoint, batch_id: int) -> int | None:
        """Rows of the seconds from the end of the batch before to its own."""
        begin = checkpoint.position(batch_id - 1) if batch_id else 0
        end = checkpoint.position(batch_id)
        return None if begin is None or end is None else (end - begin) * self._rows

    def read(
        self,
        session: SparkSession,
        options: contract.SourceOptions,
        knobs: Mapping[str, float],
        begin: Offsets | None = None,
        *,
        at_once: bool = False,
    ) -> Mapping[str, DataFrame]:
        """The time at which each row was due, and its number.

        A new checkpoint begins with the row of number 0.
        """
        del options, knobs, begin, at_once
        frame = session.readStream.format("rate").options(**self._options).load()
        seen = (*ledger.observations(frame.columns), *ages.observations("timestamp"))
        return {VIEW: frame.observe(SOURCE, *seen)}

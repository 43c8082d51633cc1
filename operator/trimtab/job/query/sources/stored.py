"""A Delta table or a directory of files as the source: what waits in it is not counted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from trimtab.api import contract, endpoints
from trimtab.errors import TransformError
from trimtab.job import gateway
from trimtab.job.batches import ledger
from trimtab.job.batches.progress import SOURCE
from trimtab.job.query import delta, tables
from trimtab.job.query.offset_log import Offsets
from trimtab.job.query.protocols import VIEW
from trimtab.job.query.sources import ages
from trimtab.job.query.sources.plain import PlainSource
from trimtab.job.termination import JobFailureError, Reason

PARTITIONS = 8
"""Tasks of a first shuffle: how many read a batch depends on its files."""

Document = endpoints.DeltaSourceDocument | endpoints.FilesSourceDocument


class StoredSource(PlainSource, ABC):
    """Reads what is added, in batches of files; the checkpoint knows to what its offsets belong."""

    on_replay = "the same files are read again"

    def __init__(self, document: Document, own: Mapping[str, object]) -> None:
        """`own` are options of Spark's reader that its kind has; None: not set."""
        self._uri, self._time = document.uri, document.time_column
        self._where = f"source.{document.kind}"
        said = {"maxFilesPerTrigger": document.max_files, **own}
        self._options = {name: str(value) for name, value in said.items() if value is not None}

    @abstractmethod
    def _look(self, session: SparkSession) -> str:
        """Why it is not there; empty if it is. Raises what Spark raises for it."""

    @abstractmethod
    def _of_kind(self, reader: DataStreamReader) -> DataStreamReader:
        """The reader, told what to read."""

    def require(self) -> None:
        """Raise a healing JobFailureError if there is no table or directory yet."""
        try:
            why = self._look(SparkSession.builder.getOrCreate())
        except (PySparkException, Py4JJavaError) as error:
            said = gateway.said(error).partition("\n")[0][:500]
            words = f"the source cannot be read: {said}; create it, or correct {self._where}.uri"
            raise JobFailureError(Reason.SOURCE_NOT_FOUND, words, heals=True) from error
        if why:
            words = f"{why}: create it, or correct {self._where}.uri"
            raise JobFailureError(Reason.SOURCE_NOT_FOUND, words, heals=True)

    def partition_count(self) -> int:
        """Not known before the files are."""
        return PARTITIONS

    def reads(self, option: Callable[[str], str | None]) -> bool:
        """Whether a stream with these options reads the same."""
        return option("path") == self._uri

    def read(
        self,
        session: SparkSession,
        options: contract.SourceOptions,
        knobs: Mapping[str, float],
        begin: Offsets | None = None,
        *,
        at_once: bool = False,
    ) -> Mapping[str, DataFrame]:
        """The rows with all their columns; raises TransformError without that of the time."""
        del options, knobs, begin, at_once
        reader = self._of_kind(session.readStream.options(**self._options))
        frame, time = reader.load(self._uri), self._time
        if time not in frame.columns:
            raise TransformError(
                f"{self._where}.timeColumn names {time}, which the source does not have: it has"
                f" {', '.join(frame.columns)}"
            )
        seen = (*ledger.observations(frame.columns), *ages.observations(time))
        return {VIEW: frame.observe(SOURCE, *seen)}


class DeltaSource(StoredSource):
    """A Delta table."""

    session_conf = delta.SESSION_CONF

    def __init__(self, document: endpoints.DeltaSourceDocument, aside: int | None = None) -> None:
        """Every row can be read, so `aside` means nothing."""
        del aside
        skips = "true" if document.skip_change_commits else None
        own = {"startingVersion": document.starting_version, "skipChangeCommits": skips}
        super().__init__(document, own)

    def _look(self, session: SparkSession) -> str:
        session.read.format("delta").load(self._uri)
        return ""

    def _of_kind(self, reader: DataStreamReader) -> DataStreamReader:
        return reader.format("delta")


class FilesSource(StoredSource):
    """A directory of files."""

    def __init__(self, document: endpoints.FilesSourceDocument, aside: int | None = None) -> None:
        """Every row can be read, so `aside` means nothing."""
        del aside
        super().__init__(document, tables.SAYS_ITS_COLUMNS.get(document.format, {}))
        self._format, self._schema = document.format, document.schema_

    def _look(self, session: SparkSession) -> str:
        there = gateway.exists(session.sparkContext, self._uri)
        return "" if there else f"there is no directory {self._uri}"

    def _of_kind(self, reader: DataStreamReader) -> DataStreamReader:
        return reader.format(self._format).schema(self._schema)

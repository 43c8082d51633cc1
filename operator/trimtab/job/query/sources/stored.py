"""A Delta table or a directory of files as the source: what waits in it is not counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from trimtab.api import contract, endpoints
from trimtab.errors import TransformError
from trimtab.job import gateway
from trimtab.job.batches import ledger
from trimtab.job.batches.progress import SOURCE
from trimtab.job.query import delta, tables
from trimtab.job.query.checkpoint import Checkpoint, Offsets
from trimtab.job.query.sources import ages
from trimtab.job.termination import Cause, JobFailureError, Reason
from trimtab.kafka.admin import KafkaIdentity

PARTITIONS = 8
"""Tasks of a first shuffle: how many read a batch depends on its files."""


class StoredSource:
    """Reads what is added, in batches of files."""

    knobs = ()
    phases = ("latest_offset",)
    on_replay = "the same files are read again"

    def __init__(
        self,
        document: endpoints.DeltaSourceDocument | endpoints.FilesSourceDocument,
        aside: int | None = None,
    ) -> None:
        """Every row can be read, so `aside` means nothing."""
        del aside
        self._document = document
        self._options = _options(document)

    @property
    def session_conf(self) -> Mapping[str, str]:
        """What Delta needs of Spark's session."""
        is_delta = isinstance(self._document, endpoints.DeltaSourceDocument)
        return delta.SESSION_CONF if is_delta else {}

    @property
    def topics(self) -> list[str]:
        """None."""
        return []

    def require(self) -> None:
        """Raise a healing JobFailureError if there is no table or directory yet."""
        session, uri = SparkSession.builder.getOrCreate(), self._document.uri
        missing = f"create it, or correct source.{self._kind}.uri"
        try:
            if isinstance(self._document, endpoints.DeltaSourceDocument):
                session.read.format("delta").load(uri)
            elif not gateway.exists(session.sparkContext, uri):
                words = f"there is no directory {uri}: {missing}"
                raise JobFailureError(Reason.SOURCE_NOT_FOUND, words, heals=True)
        except (PySparkException, Py4JJavaError) as error:
            why = gateway.said(error).partition("\n")[0][:500]
            words = f"the source cannot be read: {why}; {missing}"
            raise JobFailureError(Reason.SOURCE_NOT_FOUND, words, heals=True) from error

    @property
    def _kind(self) -> str:
        return self._document.kind

    def meaning(self, causes: Sequence[Cause]) -> JobFailureError | None:
        """None: Delta's own words say what is wrong."""
        del causes
        return None

    def identity(self) -> KafkaIdentity | None:
        """None: the checkpoint itself knows which table its offsets belong to."""
        return None

    def partition_count(self) -> int:
        """Not known before the files are."""
        return PARTITIONS

    def reads(self, option: Callable[[str], str | None]) -> bool:
        """Whether a stream with these options reads the same."""
        return option("path") == self._document.uri

    def planned(self, checkpoint: Checkpoint, batch_id: int) -> int | None:
        """Not known: the offsets count files."""
        del checkpoint, batch_id
        return None

    def fitted(
        self, knobs: Mapping[str, float], record_bytes: float | None, partitions: int
    ) -> dict[str, float]:
        """Nothing: it has no knobs."""
        del knobs, record_bytes, partitions
        return {}

    def read(
        self,
        session: SparkSession,
        options: contract.SourceOptions,
        knobs: Mapping[str, float],
        begin: Offsets | None = None,
        *,
        at_once: bool = False,
    ) -> DataFrame:
        """The rows with all their columns; raises TransformError without that of the time."""
        del options, knobs, begin, at_once
        said = self._document
        reader = session.readStream.options(**self._options)
        if isinstance(said, endpoints.FilesSourceDocument):
            reader = reader.format(said.format).schema(said.schema_)
        else:
            reader = reader.format("delta")
        frame, time = reader.load(said.uri), said.time_column
        if time not in frame.columns:
            raise TransformError(
                f"source.{self._kind}.timeColumn names {time}, which the source does not have: it"
                f" has {', '.join(frame.columns)}"
            )
        return frame.observe(SOURCE, *ledger.observations(frame.columns), *ages.observations(time))


def _options(said: endpoints.DeltaSourceDocument | endpoints.FilesSourceDocument) -> dict[str, str]:
    """Options of Spark's reader."""
    found: dict[str, object] = {"maxFilesPerTrigger": said.max_files}
    if isinstance(said, endpoints.DeltaSourceDocument):
        found["startingVersion"] = said.starting_version
        found["skipChangeCommits"] = "true" if said.skip_change_commits else None
    else:
        found |= tables.SAYS_ITS_COLUMNS.get(said.format, {})
    return {name: str(value) for name, value in found.items() if value is not None}

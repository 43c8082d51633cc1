"""What the driver requires of a source and of a sink.

A new kind needs a module in `sources` or `sinks`, a line in the table there, and its document in
`api/endpoints.py`. No other module of the driver knows the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from trimtab.api.contract import SourceOptions
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.offset_log import Offsets
from trimtab.job.termination import Cause, JobFailureError
from trimtab.kafka.admin import KafkaIdentity

VIEW = "source"
"""The view of a source that is the only one."""


class Source(Protocol):
    """Where the records of the query come from."""

    @property
    def knobs(self) -> Collection[str]:
        """Names of the knobs that `read` applies; changing one restarts the query."""

    @property
    def phases(self) -> Collection[str]:
        """Batch phases that it adds: finding out how far there is to read."""

    @property
    def session_conf(self) -> Mapping[str, str]:
        """Settings that it needs of Spark's session."""

    @property
    def on_replay(self) -> str:
        """What a replayed batch reads."""

    @property
    def topics(self) -> list[str]:
        """The topics whose offsets are in the checkpoint; empty if it reads none."""

    def require(self) -> None:
        """Raise JobFailureError if it is missing, or a healing one if it does not answer."""

    def meaning(self, causes: Sequence[Cause]) -> JobFailureError | None:
        """What a failure means that its part of the query has raised; None if it has not."""

    def identity(self) -> KafkaIdentity | None:
        """What the offsets in a checkpoint belong to, None: to nothing else.

        Raises a healing JobFailureError.
        """

    def partition_count(self) -> int:
        """Partitions that it is read in; raises a healing JobFailureError without an answer."""

    def reads(self, option: Callable[[str], str | None]) -> bool:
        """Whether a stream of Spark with these options reads just what it does."""

    def planned(self, checkpoint: Checkpoint, batch_id: int) -> int | None:
        """Records in a planned batch; None if they are not known.

        Raises JobFailureError if a remote checkpoint does not answer.
        """

    def fitted(
        self, knobs: Mapping[str, float], record_bytes: float | None, partitions: int
    ) -> dict[str, float]:
        """Values for its own unset knobs that suit the other knobs.

        `record_bytes` is the mean size of a record, None if unknown.
        """

    def read(
        self,
        session: SparkSession,
        options: SourceOptions,
        knobs: Mapping[str, float],
        begin: Offsets | None,
        *,
        at_once: bool,
    ) -> Mapping[str, DataFrame]:
        """The records as streams by the names of their views, usually one.

        Their side of the ledger and their ages are observed.

        `at_once`: for real-time mode, which has no limits of a batch and writes before a commit.
        A new checkpoint begins at `begin` if it is given, and otherwise where the options say.
        """


class Sink(Protocol):
    """Where the results of the query go."""

    @property
    def knobs(self) -> Collection[str]:
        """Names of the knobs that `follow` applies from one batch to the next."""

    @property
    def phases(self) -> Collection[str]:
        """Phases that it adds to a timed batch; empty if it writes nothing."""

    @property
    def ignores(self) -> Collection[str]:
        """Columns that mean something to others of its kind, and nothing to it."""

    @property
    def session_conf(self) -> Mapping[str, str]:
        """Settings that it needs of Spark's session."""

    @property
    def spent_s(self) -> Mapping[str, float]:
        """Seconds that each of several sinks took for the last batch, by name."""

    @property
    def on_replay(self) -> str:
        """What a batch leaves behind if it is replayed after it was written in part or whole."""

    def require(self) -> None:
        """Raise JobFailureError if it is missing, or a healing one if it does not answer."""

    def arrived(self) -> int | None:
        """Records that it has got since `require` was first called, as it counts them itself.

        Whoever wrote them, and how often; None if it cannot tell. Raises UnavailableError if it
        does not answer.
        """

    def prepare(self, frame: DataFrame) -> DataFrame:
        """Select the columns to write; raises TransformError if they do not fit."""

    def follow(self, knobs: Mapping[str, float]) -> None:
        """Apply its knobs to the next batch; unset knobs get their defaults."""

    def write(self, frame: DataFrame, batch_id: int) -> None:
        """Write one prepared batch; a replayed batch has the same `batch_id`."""

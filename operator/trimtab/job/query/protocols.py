"""What the driver needs of where records come from and of where they go.

A further kind is one module in `sources` or `sinks` and one line in the table there, beside its
document in `api/contract.py`. No other module of the driver knows which kinds there are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from trimtab.api.contract import SourceOptions


class Source(Protocol):
    """Where the records of the query come from."""

    @property
    def knobs(self) -> Collection[str]:
        """Names of the knobs that `read` takes up; a change of one restarts the query."""

    @property
    def phases(self) -> Collection[str]:
        """Phases of a batch that it brings: what it takes to learn how far there is to read."""

    @property
    def columns(self) -> Collection[str]:
        """What a transform gets."""

    @property
    def on_replay(self) -> str:
        """What a batch that runs again reads."""

    @property
    def topics(self) -> list[str]:
        """By which the checkpoint tells its offsets."""

    def require(self) -> None:
        """Raise JobFailureError when it is not there, one that heals when it does not answer."""

    def partition_count(self) -> int:
        """Partitions of all topics together; raises JobFailureError (healing) without an answer."""

    def fitted(
        self, knobs: Mapping[str, float], record_bytes: float | None, partitions: int
    ) -> dict[str, float]:
        """Knobs of its own that it sets by the others, where nobody sets them.

        `record_bytes` is the mean size of a record, None before it is known.
        """

    def read(
        self, session: SparkSession, options: SourceOptions, knobs: Mapping[str, float]
    ) -> DataFrame:
        """The records as a stream, its side of the ledger and their ages observed on the way."""


class Sink(Protocol):
    """Where the results of the query go."""

    @property
    def knobs(self) -> Collection[str]:
        """Names of the knobs that `follow` takes up, from one batch to the next."""

    @property
    def phases(self) -> Collection[str]:
        """Phases of a batch that it brings when one is timed; empty where nothing is written."""

    @property
    def on_replay(self) -> str:
        """What a batch leaves behind that runs again after it was written, in part or whole."""

    def require(self) -> None:
        """Raise JobFailureError when it is not there, one that heals when it does not answer."""

    def prepare(self, frame: DataFrame) -> DataFrame:
        """The columns that it writes; raises TransformError when they do not suit it."""

    def follow(self, knobs: Mapping[str, float]) -> None:
        """Take up its knobs for the next batch; unset knobs keep their defaults."""

    def write(self, frame: DataFrame, batch_id: int) -> None:
        """Write one batch, which `prepare` has seen; `batch_id` is the same when it runs again."""

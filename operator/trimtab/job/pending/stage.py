"""The part of `pending_map` that runs in the executors: the table function of one stage.

It imports little, since every Python worker loads it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark import TaskContext
from pyspark.accumulators import Accumulator, AccumulatorParam

from trimtab.job.pending.calls import Calls, TaskCalls

LIMIT_PROPERTY = "trimtab.maxInFlight"
"""The property of a Spark job that carries the limit to its tasks; the writer sets it per batch."""

TABLE_FUNCTION = "PendingMap"
"""What the stage is called in a query plan."""


class Gather(AccumulatorParam[list[TaskCalls]]):
    """Brings what the tasks called to the driver, a list of `TaskCalls`."""

    def zero(self, value: list[TaskCalls]) -> list[TaskCalls]:
        """Nothing called."""
        del value
        return []

    def addInPlace(  # noqa: N802 -- Spark's name
        self, value1: list[TaskCalls], value2: list[TaskCalls]
    ) -> list[TaskCalls]:
        """Both."""
        return value1 + value2


@dataclass(frozen=True, slots=True)
class Settings:
    """What a stage is, for its tasks."""

    call: Callable[[Any], Any]
    stage: str
    place: int
    """The column of the answer; one beyond the columns that come in adds it."""
    default_limit: int
    timeout_s: float
    null_on_error: bool
    total: Accumulator[list[TaskCalls]] | None
    """The accumulator that gathers what was called; None where nobody asks."""

    def begin(self) -> Calls:
        """The calls of this very task; its job brought the limit along."""
        task = TaskContext.get()
        said = task.getLocalProperty(LIMIT_PROPERTY) if task else None
        return Calls(
            self.call,
            stage=self.stage,
            limit=int(said or self.default_limit),
            timeout_s=self.timeout_s,
            null_on_error=self.null_on_error,
        )

    def joined(self, record: Any, answer: Any) -> tuple[Any, ...]:
        """The row that goes out."""
        values = tuple(record)
        return (*values[: self.place], answer, *values[self.place + 1 :])


def handler(settings: Settings) -> type:
    """The table function; made here, so that it travels to the executors with its settings."""

    class PendingMap:
        """One object for each task."""

        def __init__(self) -> None:
            self._calls: Calls | None = None

        def eval(self, row: Any) -> Iterator[tuple[Any, ...]]:
            """One record in; those whose answers are there out."""
            if self._calls is None:
                self._calls = settings.begin()
            for record, answer in self._calls.put(row):
                yield settings.joined(record, answer)

        def terminate(self) -> Iterator[tuple[Any, ...]]:
            """The end of the partition: what is still out."""
            if self._calls is None:
                return
            for record, answer in self._calls.finish():
                yield settings.joined(record, answer)
            called = self._calls.close()
            if settings.total is not None:
                settings.total.add([called])

    return PendingMap

"""The part of `pending_map` that runs in the executors: the table function of one stage.

It imports little, because every Python worker loads it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark import TaskContext
from pyspark.accumulators import Accumulator, AccumulatorParam

from trimtab.job.pending.calls import Calls, FailedCall, OnError, TaskCalls

LIMIT_PROPERTY = "trimtab.maxInFlight"
"""The Spark job property that carries the limit to the tasks; the writer sets it per batch."""

TABLE_FUNCTION = "PendingMap"
"""The stage's name in a query plan."""


class CollectCalls(AccumulatorParam[list[TaskCalls]]):
    """Collects the calls of the tasks in the driver, as a list of `TaskCalls`."""

    def zero(self, value: list[TaskCalls]) -> list[TaskCalls]:
        """No calls."""
        del value
        return []

    def addInPlace(  # noqa: N802 -- Spark's name
        self, value1: list[TaskCalls], value2: list[TaskCalls]
    ) -> list[TaskCalls]:
        """Both."""
        return value1 + value2


@dataclass(frozen=True, slots=True)
class StageSettings:
    """The configuration of a stage, for its tasks."""

    call: Callable[[Any], Any]
    stage: str
    place: int
    """Index of the answer's column."""
    marks: int | None
    """Index of the column of the error of a call that failed; None: there is none."""
    width: int
    """Number of columns; those beyond the input's are new."""
    default_limit: int
    timeout_s: float
    on_error: OnError
    total: Accumulator[list[TaskCalls]] | None
    """The accumulator that collects the calls; None if nobody reads it."""

    def begin(self) -> Calls:
        """The calls of the current task; its job carries the limit."""
        task = TaskContext.get()
        said = task.getLocalProperty(LIMIT_PROPERTY) if task else None
        return Calls(
            self.call,
            stage=self.stage,
            limit=int(said or self.default_limit),
            timeout_s=self.timeout_s,
            on_error=self.on_error,
        )

    def joined(self, record: Any, answer: Any) -> tuple[Any, ...]:
        """The output row."""
        values = [*record, *[None] * (self.width - len(record))]
        failed = isinstance(answer, FailedCall)
        values[self.place] = None if failed else answer
        if failed and self.marks is not None:
            values[self.marks] = str(answer)
        return tuple(values)


def handler(settings: StageSettings) -> type:
    """The table function; defined here, so that it is shipped with its settings."""

    class PendingMap:
        """One object per task."""

        def __init__(self) -> None:
            self._calls: Calls | None = None

        def eval(self, row: Any) -> Iterator[tuple[Any, ...]]:
            """Accept a record; emit those whose answers have arrived."""
            if self._calls is None:
                self._calls = settings.begin()
            for record, answer in self._calls.put(row):
                yield settings.joined(record, answer)

        def terminate(self) -> Iterator[tuple[Any, ...]]:
            """The end of the partition: emit the rest."""
            if self._calls is None:
                return
            for record, answer in self._calls.finish():
                yield settings.joined(record, answer)
            called = self._calls.close()
            if settings.total is not None:
                settings.total.add([called])

    return PendingMap

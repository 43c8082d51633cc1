"""`pending_map`: a stage of a Python transform that calls a remote service for each record.

    from trimtab.transforms import pending_map

A plain UDF makes one call after the other in each task. Here up to *maxInFlight* calls of a task
are under way at once, and that limit is a knob which changes from one batch to the next.

The stage is a Python table function over the whole frame: it gets the rows one by one and may give
out earlier ones while later ones are still at the service. That needs no Arrow in the image and
works in a streaming query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

from pyspark import SparkContext
from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame
from pyspark.sql.functions import udtf
from pyspark.sql.types import DataType, StructField, StructType
from pyspark.sql.udtf import UserDefinedTableFunction

from trimtab.api.knobs import MAX_IN_FLIGHT
from trimtab.job.pending.calls import TaskCalls
from trimtab.job.pending.stage import Gather, Settings, handler

TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class StageCalls:
    """What one stage called in one batch."""

    most: int
    """Most calls under way at once, over all tasks; each task counts with its own most."""
    count: int
    seconds: float
    errors: int


class Stages:
    """The stages of one query, by name, and what they called."""

    def __init__(self) -> None:
        self._calls: dict[str, Accumulator[list[TaskCalls]]] = {}

    def __bool__(self) -> bool:
        """Whether the query has any."""
        return bool(self._calls)

    def add(self, stage: str) -> Accumulator[list[TaskCalls]]:
        """A further stage; raises ValueError for a name that another one has."""
        if stage in self._calls:
            raise ValueError(f"two stages are called {stage!r}: give each pending_map its own name")
        context = SparkContext.getOrCreate()
        calls = self._calls[stage] = context.accumulator([], Gather())
        return calls

    def take(self) -> Mapping[str, StageCalls]:
        """What was called since the last time, by stage."""
        taken = {}
        for stage, calls in self._calls.items():
            taken[stage] = total(calls.value)
            calls.value = []
        return taken


def total(tasks: Iterable[TaskCalls]) -> StageCalls:
    """All tasks of a batch together."""
    tasks = list(tasks)
    moments = [(t.began, t.most) for t in tasks] + [(t.ended, -t.most) for t in tasks]
    most = under_way = 0
    for _, step in sorted(moments):  # at equal times the end first
        under_way += step
        most = max(most, under_way)
    return StageCalls(
        most=most,
        count=sum(t.count for t in tasks),
        seconds=sum(t.seconds for t in tasks),
        errors=sum(t.errors for t in tasks),
    )


_declaring: Stages | None = None


@contextmanager
def declaring() -> Iterator[Stages]:
    """Hear of the stages that are made meanwhile: what the driver does around a transform."""
    global _declaring  # noqa: PLW0603 -- the user's function has no place to hand it through
    _declaring = Stages()
    try:
        yield _declaring
    finally:
        _declaring = None


def pending_map(
    df: DataFrame,
    call: Callable[[Any], Any],
    column: str,
    returns: DataType | str = "string",
    *,
    stage: str = "calls",
    timeout_s: float = TIMEOUT_S,
    on_error: Literal["fail", "null"] = "fail",
) -> DataFrame:
    """The frame with one more column: what `call` answers for each record.

    At most *maxInFlight* calls of a task are under way at a time (1 where the knob is not set).
    Records keep their order within a partition, however long their calls take.

    Args:
        df: the records, streaming or not. All of its columns go through Python: select those that
            are needed first.
        call: gets a record as a Row and returns the answer. It runs in the executors, in several
            threads at once, and may be asked again for a record when a batch is repeated.
        column: where the answer goes; a column of that name is replaced.
        returns: type of the answer, as for a UDF.
        stage: its name in metrics and messages; each stage of a query has its own.
        timeout_s: seconds after which the answer of a call is given up. Python cannot end a thread,
            so the call counts as under way until it returns: give its client a shorter time-out.
        on_error: what becomes of a record whose call raised or was given up: `fail` ends the task,
            and with it the batch; `null` leaves the answer empty and counts an error.

    Raises:
        ValueError: an argument has no meaning, or another stage of the query has the same name.
    """
    if timeout_s <= 0:
        raise ValueError(f"timeout_s must be greater than 0, it is {timeout_s:g}")
    if on_error not in {"fail", "null"}:
        raise ValueError(f"on_error is 'fail' or 'null', not {on_error!r}")
    schema = _with_column(df.schema, column, returns)
    settings = Settings(
        call=call,
        stage=stage,
        place=schema.names.index(column),
        default_limit=int(MAX_IN_FLIGHT.default),
        timeout_s=timeout_s,
        null_on_error=on_error == "null",
        total=_declaring.add(stage) if _declaring is not None else None,
    )
    # with a class it gives the function at once, which its type does not say
    function = cast(
        "UserDefinedTableFunction", udtf(handler(settings), returnType=schema, useArrow=False)
    )
    return function(df.asTable())


def _with_column(schema: StructType, column: str, returns: DataType | str) -> StructType:
    answer = returns if isinstance(returns, DataType) else DataType.fromDDL(returns)
    field = StructField(column, answer, nullable=True)
    if column in schema.names:
        return StructType([field if f.name == column else f for f in schema.fields])
    return StructType([*schema.fields, field])

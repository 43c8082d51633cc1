"""`pending_map`: a stage of a Python transform that calls a remote service for each record.

    from trimtab.transforms import pending_map

A plain UDF makes one call after the other in each task. Here a task has up to *maxInFlight* calls
in flight at once. That limit is a knob, which changes from one batch to the next.

The stage is a Python table function over the whole frame: it gets the rows one by one and may emit
earlier ones while calls for later ones are in flight. That needs no Arrow in the image and works
in a streaming query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast, get_args

from pyspark import SparkContext
from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame
from pyspark.sql.functions import udtf
from pyspark.sql.types import DataType, StructField, StructType
from pyspark.sql.udtf import UserDefinedTableFunction

from trimtab.api.knobs import MAX_IN_FLIGHT
from trimtab.api.v1alpha1.formats import ERROR
from trimtab.job.pending.calls import OnError, TaskCalls
from trimtab.job.pending.stage import CollectCalls, StageSettings, handler

TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class StageCalls:
    """The calls of one stage in one batch."""

    most: int
    """Most calls in flight at once over all tasks; each task counts with its own maximum."""
    count: int
    seconds: float
    errors: int


class Stages:
    """The stages of one query by name, and their calls."""

    def __init__(self) -> None:
        self._calls: dict[str, Accumulator[list[TaskCalls]]] = {}

    def __bool__(self) -> bool:
        """Whether the query has any."""
        return bool(self._calls)

    def add(self, stage: str) -> Accumulator[list[TaskCalls]]:
        """Add a stage; raises ValueError if another one has this name."""
        if stage in self._calls:
            raise ValueError(f"two stages are called {stage!r}: give each pending_map its own name")
        context = SparkContext.getOrCreate()
        calls = self._calls[stage] = context.accumulator([], CollectCalls())
        return calls

    def take(self) -> Mapping[str, StageCalls]:
        """The calls since the last time, by stage."""
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
    for _, step in sorted(moments):  # at equal times, ends come first
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
    """Collect the stages that a transform creates meanwhile."""
    global _declaring  # noqa: PLW0603 -- the user's function cannot pass it on
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
    on_error: OnError = "fail",
) -> DataFrame:
    """The frame with one more column: the answer of `call` for each record.

    A task has at most *maxInFlight* calls in flight at a time (1 if the knob is not set). Records
    keep their order within a partition, however long their calls take.

    Args:
        df: the records, streaming or not. All columns pass through Python: select the ones you
            need first.
        call: gets a record as a Row and returns the answer. It runs in the executors, in several
            threads at once, and is called again for a record if its batch is repeated.
        column: the column of the answer; replaces an existing column of that name.
        returns: type of the answer, as for a UDF.
        stage: the name in metrics and messages; must be unique within a query.
        timeout_s: seconds after which a call times out. Python cannot end a thread, so the call
            stays in flight until it returns: give its client a shorter time-out.
        on_error: what happens if a call raises or times out: `fail` fails the task and with it the
            batch; `null` leaves the answer empty and counts an error; `mark` also says in the
            row's column `error` what went wrong, so that it becomes a dead letter.

    Raises:
        ValueError: an argument is invalid, or another stage of the query has the same name.
    """
    _require_meaning(df, column, timeout_s, on_error)
    schema = _with_column(df.schema, column, returns)
    if on_error == "mark":
        schema = _with_column(schema, ERROR, "string")
    settings = StageSettings(
        call=call,
        stage=stage,
        place=schema.names.index(column),
        marks=schema.names.index(ERROR) if on_error == "mark" else None,
        width=len(schema),
        default_limit=int(MAX_IN_FLIGHT.default),
        timeout_s=timeout_s,
        on_error=on_error,
        total=_declaring.add(stage) if _declaring is not None else None,
    )
    return _table_function(settings, schema)(df.asTable())


def _table_function(settings: StageSettings, schema: StructType) -> UserDefinedTableFunction:
    made = udtf(handler(settings), returnType=schema, useArrow=False)
    # given a class it returns the function itself, which its type does not tell
    return cast("UserDefinedTableFunction", made)


def _require_meaning(df: DataFrame, column: str, timeout_s: float, on_error: OnError) -> None:
    if timeout_s <= 0:
        raise ValueError(f"timeout_s must be greater than 0, it is {timeout_s:g}")
    if on_error not in get_args(OnError):
        raise ValueError(f"on_error is one of {', '.join(get_args(OnError))}, not {on_error!r}")
    if on_error == "mark" and column in {ERROR, *df.columns}:
        raise ValueError(
            "on_error='mark' keeps a row as it was, for the dead letters: name a new column for the"
            f" answers instead of {column!r}"
        )


def _with_column(schema: StructType, column: str, returns: DataType | str) -> StructType:
    answer = returns if isinstance(returns, DataType) else DataType.fromDDL(returns)
    field = StructField(column, answer, nullable=True)
    if column in schema.names:
        return StructType([field if f.name == column else f for f in schema.fields])
    return StructType([*schema.fields, field])

"""Spark's real-time mode: tasks run for a whole interval and write each record as it comes.

There is no write between two batches that a gate could refuse, so a query is stopped by letting it
end: Spark looks, after each batch, whether it is to go on. What it is told there is the state that
its own `stop` sets, without the interrupt that goes with that.
"""

from __future__ import annotations

from typing import Final

from pyspark import SparkContext
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from trimtab.job import gateway
from trimtab.job.query import plan, stateful

SHORTEST_S: Final = 5.0
"""The shortest interval that Spark takes."""


def faults(frame: DataFrame) -> list[str]:
    """What of the query real-time mode cannot do, in words."""
    found = [f"it keeps state ({each})" for each in stateful.operators(frame)]
    return [*found, "it runs Python"] if plan.uses_python(frame) else found


def refusal(found: list[str]) -> str:
    """What to do about them."""
    return (
        f"execution: realTime cannot run this transform: {'; '.join(found)}. Write it without, or"
        " write execution: microBatch"
    )


def runs(query: StreamingQuery) -> bool:
    """Whether the query's thread is alive, also while it ends the last batch."""
    return bool(gateway.execution(query).queryExecutionThread().isAlive())


def end_after_batch(query: StreamingQuery) -> None:
    """Let the query end when the batch under way is committed."""
    spark = gateway.classes(SparkContext.getOrCreate()).org.apache.spark
    terminated = getattr(spark.sql.execution.streaming.runtime, "TERMINATED$")
    gateway.execution(query).state().set(getattr(terminated, "MODULE$"))


def ended_well(query: StreamingQuery) -> bool:
    """Whether a query that has ended did so without a failure."""
    return not runs(query) and not gateway.scala_query(query).exception().isDefined()

"""Spark's real-time mode: tasks run for a whole interval and write each record as it comes.

There is no write between two batches that a gate could refuse, so a query is stopped by letting it
end. Before each batch, and nowhere else, Spark looks whether its background work has failed, and
gives up if so: it is told there that the query is cancelled.
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
CANCELLED: Final = "not a failure: trimtab ends this run of the query between two intervals"
"""What Spark's log, and its listeners, say of such an end."""


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
    jvm = gateway.classes(SparkContext.getOrCreate())
    ended = jvm.java.util.concurrent.CancellationException(CANCELLED)
    gateway.execution(query).errorNotifier().markError(ended)


def ended_well(query: StreamingQuery) -> bool:
    """Whether a query that has ended did so without a failure of its own."""
    if runs(query):
        return False
    death = gateway.scala_query(query).exception()
    return not death.isDefined() or death.get().cause().getMessage() == CANCELLED

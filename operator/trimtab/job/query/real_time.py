"""Spark's real-time mode: tasks run for a whole interval and write each record as it comes.

There is no write between two batches that a gate could refuse, so a query is stopped by letting it
end: Spark looks, after each batch, whether it is to go on. What it is told there is the state that
its own `stop` sets, without the interrupt that goes with that.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- its usual name
from pyspark.sql.streaming.query import StreamingQuery

from trimtab.job import gateway
from trimtab.job.batches.progress import AGE_SHARES
from trimtab.job.query import plan, stateful

SHORTEST_S: Final = 5.0
"""The shortest interval that Spark takes."""
_READ_AT = "_trimtab_read_at"


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


def aged(frame: DataFrame, name: str, *more: Column) -> DataFrame:
    """The frame with the age of each row, when it is read, observed under a name beside `more`.

    By the clock of the executor that reads it. The time of a commit says nothing here: a record is
    written long before.
    """
    clock = F.expr("CAST(reflect('java.lang.System', 'currentTimeMillis') AS BIGINT)")
    stamp = F.when(F.unix_millis("timestamp") >= 0, F.unix_millis("timestamp"))
    age = F.greatest(F.col(_READ_AT) - stamp, F.lit(0))
    shares = F.array(*(F.lit(share) for share in AGE_SHARES))
    seen = (
        F.percentile_approx(age, shares, 1000).alias("ages"),
        F.count(stamp).alias("stamped"),
        F.sum(age.cast("double")).alias("age_sum"),
        F.count_if(stamp > F.col(_READ_AT)).alias("ahead"),
    )
    return frame.withColumn(_READ_AT, clock).observe(name, *more, *seen).drop(_READ_AT)


def runs(query: StreamingQuery) -> bool:
    """Whether the query's thread is alive, also while it ends the last batch."""
    return bool(gateway.execution(query).queryExecutionThread().isAlive())


def end_after_batch(query: StreamingQuery) -> None:
    """Let the query end when the batch under way is committed."""
    terminated = gateway.class_named(
        query, "org.apache.spark.sql.execution.streaming.runtime.TERMINATED$"
    )
    state = gateway.execution(query).state()
    state.set(terminated.getField("MODULE$").get(None))


def ended_well(query: StreamingQuery) -> bool:
    """Whether a query that has ended did so without a failure."""
    return not runs(query) and not gateway.scala_query(query).exception().isDefined()

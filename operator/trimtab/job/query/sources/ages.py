"""How old records are: what to observe of a source's rows, by the column of their times."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from trimtab.job.batches.progress import AGE_SHARES

_READ_AT = "_trimtab_read_at"


def observations(column: str) -> list[Column]:
    """The distribution of the timestamps in milliseconds since 1970; `progress` reads it back."""
    stamp = _stamp(column)
    # the oldest timestamps are the longest latencies, hence the complement
    shares = [1.0 - share for share in AGE_SHARES]
    return [
        _distribution(stamp, shares).alias("stamps"),
        F.count(stamp).alias("stamped"),
        F.sum(stamp.cast("double")).alias("stamp_sum"),
        F.count_if(F.col(column).cast("timestamp") > F.current_timestamp()).alias("ahead"),
    ]


def when_read(frame: DataFrame, name: str, *more: Column) -> DataFrame:
    """The frame with the age of each row, when it is read, observed under a name beside `more`.

    By `timestamp` and the clock of the executor that reads it, for real-time mode: the time of a
    commit says nothing there, as a record is written long before.
    """
    clock = F.expr("CAST(reflect('java.lang.System', 'currentTimeMillis') AS BIGINT)")
    stamp = _stamp("timestamp")
    age = F.greatest(F.col(_READ_AT) - stamp, F.lit(0))
    seen = (
        _distribution(age, AGE_SHARES).alias("ages"),
        F.count(stamp).alias("stamped"),
        F.sum(age.cast("double")).alias("age_sum"),
        F.count_if(stamp > F.col(_READ_AT)).alias("ahead"),
    )
    return frame.withColumn(_READ_AT, clock).observe(name, *more, *seen).drop(_READ_AT)


def _stamp(column: str) -> Column:
    """Milliseconds since 1970; null for a record without a time, which has -1."""
    millis = F.unix_millis(F.col(column).cast("timestamp"))
    return F.when(millis >= 0, millis)


def _distribution(value: Column, shares: Sequence[float]) -> Column:
    return F.percentile_approx(value, F.array(*(F.lit(share) for share in shares)), 1000)

"""How old records are: what to observe of a source's rows, by the column of their times."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from trimtab.job.batches.progress import AGE_SHARES


def observations(column: str) -> list[Column]:
    """The distribution of the timestamps in milliseconds since 1970; `progress` reads it back."""
    time = F.col(column).cast("timestamp")
    # a record without a time has -1
    stamp = F.when(F.unix_millis(time) >= 0, F.unix_millis(time))
    # the oldest timestamps are the longest latencies, hence the complement
    shares = F.array(*(F.lit(1.0 - share) for share in AGE_SHARES))
    return [
        F.percentile_approx(stamp, shares, 1000).alias("stamps"),
        F.count(stamp).alias("stamped"),
        F.sum(stamp.cast("double")).alias("stamp_sum"),
        F.count_if(time > F.current_timestamp()).alias("ahead"),
    ]

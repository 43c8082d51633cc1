"""The transforms of the pipelines in `bench/bottlenecks`, deployed as a ConfigMap."""

from __future__ import annotations

import threading
import time
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from trimtab.transforms import pending_map

KEPT = ("key", "value", "topic", "partition", "offset")


def plain(df: DataFrame, params: dict[str, str]) -> DataFrame:
    """Pass the records through."""
    del params
    return df.select(*KEPT)


def wait(df: DataFrame, params: dict[str, str]) -> DataFrame:
    """Wait `wait_ms` for each record, one after another in each task."""
    seconds = float(params["wait_ms"]) / 1000

    @F.udf("binary")
    def slow(value: Any) -> Any:
        time.sleep(seconds)
        return value

    return df.select(*KEPT).withColumn("value", slow("value"))


def compute(df: DataFrame, params: dict[str, str]) -> DataFrame:
    """Compute `rounds` hashes for each record, in the JVM."""
    rounds = int(params["rounds"])
    hashes = f"aggregate(sequence(1, {rounds}), 0L, (a, x) -> a ^ xxhash64(x, value))"
    busy = F.when(F.expr(hashes).isNull(), None).otherwise(F.col("value"))
    return df.select(*KEPT).withColumn("value", busy)


def hoard(df: DataFrame, params: dict[str, str]) -> DataFrame:
    """Create `strings` strings for each record: much garbage, little computation."""
    strings = int(params["strings"])
    held = f"size(transform(sequence(1, {strings}), x -> concat(offset, '-', x)))"
    # not isNull: Spark knows that a size is never null, and would compute nothing
    busy = F.when(F.expr(held) < 0, None).otherwise(F.col("value"))
    return df.select(*KEPT).withColumn("value", busy)


def swell(df: DataFrame, params: dict[str, str]) -> DataFrame:
    """Pad the records to `bytes` bytes with one character, which compresses well."""
    size = int(params["bytes"])
    return df.select(*KEPT).withColumn("value", F.rpad(F.col("value").cast("string"), size, "."))


def count(df: DataFrame, params: dict[str, str]) -> DataFrame:
    """Count the records by key: little state, but every batch commits all its stores."""
    del params
    counts = df.groupBy("key").count()
    return counts.select("key", F.col("count").cast("string").alias("value"))


class Service:
    """A remote service in this process: calls take a while, and their rate may be limited."""

    def __init__(self, seconds: float, per_s: float, knee: int) -> None:
        """At most `per_s` calls/s; more than `knee` at once slow each other down; 0: no limit."""
        self._seconds, self._per_s, self._knee = seconds, per_s, knee
        self._lock = threading.Lock()
        self._next_s = 0.0
        self._now = 0

    def call(self) -> None:
        """Wait as long as a response takes."""
        with self._lock:
            self._now += 1
            crowd = self._now / self._knee if self._knee else 1.0
            at_s = max(time.monotonic(), self._next_s)
            if self._per_s:
                self._next_s = at_s + 1 / self._per_s
        time.sleep(max(0.0, at_s - time.monotonic()) + self._seconds * max(1.0, crowd) ** 2)
        with self._lock:
            self._now -= 1


_services: dict[tuple[float, float, int], Service] = {}


def remote(df: DataFrame, params: dict[str, str]) -> DataFrame:
    """Call a service for each record: `wait_ms` per call, `per_s` and `knee` as in `Service`."""
    figures = (float(params["wait_ms"]) / 1000, float(params.get("per_s", 0)),
               int(params.get("knee", 0)))  # fmt: skip

    def ask(row: Any) -> Any:
        # import this module as the worker does, so that there is one service per process
        import work  # type: ignore[import-not-found]  # noqa: PLC0415

        if figures not in work._services:
            work._services[figures] = work.Service(*figures)
        work._services[figures].call()
        return row["value"]

    return pending_map(df.select(*KEPT), ask, "value", "binary", stage="service")

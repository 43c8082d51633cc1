"""The work of the pipelines of `bench/bottlenecks`: it goes to the cluster as a ConfigMap."""

from __future__ import annotations

import threading
import time
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from trimtab.transforms import pending_map

KEPT = ("key", "value", "topic", "partition", "offset")


def plain(df: DataFrame, params: dict[str, str]) -> DataFrame:
    """Nothing at all."""
    del params
    return df.select(*KEPT)


def wait(df: DataFrame, params: dict[str, str]) -> DataFrame:
    """Wait `wait_ms` for each record, one after the other in each task."""
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
    """Hold `strings` strings in memory for each record: much to collect, little to compute."""
    strings = int(params["strings"])
    held = f"size(transform(sequence(1, {strings}), x -> concat(offset, '-', x)))"
    # not isNull: Spark knows that a size is never null, and would work out nothing
    busy = F.when(F.expr(held) < 0, None).otherwise(F.col("value"))
    return df.select(*KEPT).withColumn("value", busy)


def swell(df: DataFrame, params: dict[str, str]) -> DataFrame:
    """Make records of `bytes` bytes, all but the first of them alike."""
    size = int(params["bytes"])
    return df.select(*KEPT).withColumn("value", F.rpad(F.col("value").cast("string"), size, "."))


def count(df: DataFrame, params: dict[str, str]) -> DataFrame:
    """Count the records of each key: little state, and a commit of all its stores in each batch."""
    del params
    counts = df.groupBy("key").count()
    return counts.select("key", F.col("count").cast("string").alias("value"))


class Service:
    """A remote service in this process: each call takes a while, and it may answer only so many."""

    def __init__(self, seconds: float, per_s: float, knee: int) -> None:
        """`per_s` calls/s at most; above `knee` at once all of them slow down; 0 for neither."""
        self._seconds, self._per_s, self._knee = seconds, per_s, knee
        self._lock = threading.Lock()
        self._next_s = 0.0
        self._now = 0

    def call(self) -> None:
        """Wait as long as an answer takes."""
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
    """Ask a service for each record: `wait_ms` a call, `per_s` calls/s at most, `knee` at once."""
    figures = (float(params["wait_ms"]) / 1000, float(params.get("per_s", 0)),
               int(params.get("knee", 0)))  # fmt: skip

    def ask(row: Any) -> Any:
        # this module as the worker has it, so that there is one service in a process
        import work  # type: ignore[import-not-found]  # noqa: PLC0415

        if figures not in work._services:
            work._services[figures] = work.Service(*figures)
        work._services[figures].call()
        return row["value"]

    return pending_map(df.select(*KEPT), ask, "value", "binary", stage="service")

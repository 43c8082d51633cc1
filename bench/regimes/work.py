"""A transform whose batches take as long as a table says: the three regimes of the tuning notes.

Each task waits by itself, record by record, so that a batch of one partition takes the table's time
whatever its size is. The driver gets this file as a separate module.
"""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

LEAST_S = 0.005
"""The unit of waiting: the operating system has no shorter waits."""


def seconds(table: list[list[float]], records: float) -> float:
    """Duration of a batch of `records`: interpolated linearly, and extrapolated beyond the last."""
    for (n0, s0), (n1, s1) in itertools.pairwise(table):
        if records <= n1 or [n1, s1] == table[-1]:
            return max(0.0, s0 + (s1 - s0) * (records - n0) / (n1 - n0))
    return table[0][1]


def transform(df: DataFrame, params: dict[str, str]) -> DataFrame:
    """Pass the records on, each batch in its time; `table` is a JSON list of [records, seconds]."""
    table = json.loads(params["table"])
    state = {"task": -1, "records": 0, "slept": 0.0}

    @F.udf("binary")
    def slow(value: Any) -> Any:
        context = TaskContext.get()
        assert context is not None  # it runs in a task
        task = context.taskAttemptId()
        if state["task"] != task:
            state.update(task=task, records=0, slept=0.0)
        state["records"] += 1
        owed_s = seconds(table, state["records"]) - state["slept"]
        if owed_s >= LEAST_S:
            time.sleep(owed_s)
            state["slept"] += owed_s
        return value

    return df.select("key", "value").withColumn("value", slow("value"))

"""Sample transforms: work that waits, as a call of a slow service does."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- its usual name
from pyspark.sql.types import StringType

from trimtab.job.clock import sleep
from trimtab.transforms import pending_map

WAIT_MS = "8"
HANG_S = 3600.0


def transform(df: DataFrame, params: dict[str, str]) -> DataFrame:
    """Upper-case every value, waiting `params["wait_ms"]` milliseconds (8) for each record."""
    wait_s = float(params.get("wait_ms", WAIT_MS)) / 1000

    def work(value: Any) -> str | None:
        sleep(wait_s)
        return None if value is None else bytes(value).decode().upper()

    slow_upper = F.udf(work, StringType())
    return df.withColumn("value", slow_upper("value"))


def calls(df: DataFrame, params: dict[str, str]) -> DataFrame:
    """The same work with several calls in flight.

    A call fails for the value `params["fail"]` and hangs for `params["hang"]`.
    `params["on_error"]` and `params["timeout_s"]` are those of the stage.
    """
    wait_s = float(params.get("wait_ms", WAIT_MS)) / 1000
    fail, hang = params.get("fail", "").encode(), params.get("hang", "").encode()

    def work(row: Any) -> str:
        value = bytes(row["value"])
        if fail and fail in value:
            raise LookupError("no such customer")
        sleep(HANG_S if hang and hang in value else wait_s)
        return value.decode().upper()

    return pending_map(
        df.select("key", "value", "topic", "partition", "offset"),
        work,
        "value",
        stage="upper",
        timeout_s=float(params.get("timeout_s", "30")),
        on_error="null" if params.get("on_error") == "null" else "fail",
    )

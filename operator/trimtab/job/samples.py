"""A transform to try trimtab with: work that waits, as a call of a slow service would."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- its usual name
from pyspark.sql.types import StringType

WAIT_MS = "8"


def transform(df: DataFrame, params: dict[str, str]) -> DataFrame:
    """Upper-case every value, waiting `params["wait_ms"]` milliseconds (8) for each record."""
    wait_s = float(params.get("wait_ms", WAIT_MS)) / 1000

    def work(value: Any) -> str | None:
        time.sleep(wait_s)
        return None if value is None else bytes(value).decode().upper()

    slow_upper = F.udf(work, StringType())
    return df.select("key", slow_upper("value").alias("value"))

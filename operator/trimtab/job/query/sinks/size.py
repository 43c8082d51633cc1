"""How large a row is as a record of Kafka, and what the producer sends."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

MOST_SENT = 1 << 20
"""Bytes of the largest record that the producer sends: Kafka's default of max.request.size."""

_FRAME, _HEADER = 100, 12
"""At most so many bytes around a record, and around a header."""


def sent_bytes(frame: DataFrame) -> Column:
    """An upper limit, some bytes above the real size, by the columns that a frame has."""
    sizes = [F.coalesce(F.octet_length(name), F.lit(0)) for name in _of(frame, "key", "value")]
    if _of(frame, "headers"):
        each = F.transform(
            "headers",
            lambda h: F.octet_length(h["key"]) + F.coalesce(F.octet_length(h["value"]), F.lit(0)),
        )
        total = F.aggregate(each, F.lit(0), lambda sum_, one: sum_ + one + _HEADER)
        sizes.append(F.coalesce(total, F.lit(0)))
    result = F.lit(_FRAME)
    for size in sizes:
        result = result + size
    return result


def _of(frame: DataFrame, *names: str) -> list[str]:
    return [name for name in names if name in frame.columns]

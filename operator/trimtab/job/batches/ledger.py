"""The delivery ledger: count, sum and XOR of the records that a batch read and handed on.

The idea is that of Apache Storm's acker. Each record has an identity, a hash of its position in
Kafka. If the same records were read and handed on, the XOR over both sides is 0. A duplicate can
escape the XOR, but not the sum.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

IDENTITY = ("topic", "partition", "offset")
"""The columns that a transform must keep so that its records can be told apart."""

_SUM_BITS = 40
"""Bits of each hash that are summed: the sum of 8 million records fits in 64 bits."""

SHOWN = (1 << 48) - 1
"""Bits of a sum or XOR that are exported: a metric holds at most 53."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of one batch; sum and XOR are None where records have lost their identity."""

    records: int
    total: int | None = None
    xor: int | None = None

    def differs(self, other: Side) -> int:
        """The least number of records that are missing or duplicated on one side."""
        if self.records != other.records:
            return abs(self.records - other.records)
        if None in {self.xor, other.xor}:
            return 0
        return int((self.total, self.xor) != (other.total, other.xor))


def observations(columns: Collection[str]) -> list[Column]:
    """What to observe of a frame with these columns; read it back with `side`."""
    counted = F.count(F.lit(1)).alias("records")
    if not set(IDENTITY) <= set(columns):
        return [counted]
    identity = F.xxhash64(*IDENTITY)
    total = F.sum(F.pmod(identity, F.lit(1 << _SUM_BITS))).alias("total")
    return [counted, F.bit_xor(identity).alias("xor"), total]


def together(sides: Iterable[Side | None]) -> Side | None:
    """What several sources have read; None if none was observed."""
    known = [each for each in sides if each is not None]
    if len(known) < 2:
        return known[0] if known else None
    return Side(sum(each.records for each in known))  # a join leaves no record as it was


def side(observed: Mapping[str, Any]) -> Side | None:
    """The observed side of a batch; None if nothing was observed."""
    if "records" not in observed:
        return None
    return Side(observed["records"], observed.get("total"), observed.get("xor"))

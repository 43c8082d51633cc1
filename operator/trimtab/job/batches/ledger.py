"""The delivery ledger: what a batch read and what it handed on, as count, sum and XOR.

After the acker of Storm (seed 000): each record has an identity, a hash of where it stands in
Kafka, and the XOR of all that were read and all that were handed on is 0 when they are the same.
One that is doubled escapes the XOR, but not the sum.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

IDENTITY = ("topic", "partition", "offset")
"""The columns that a transform keeps to have its records told apart on both sides."""

_SUM_BITS = 40
"""Bits of each hash that are summed: 8 million records of a batch stay below 64 bits."""

SHOWN = (1 << 48) - 1
"""Bits of a sum or an XOR that are exported: a metric holds no more than 53."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of one batch; no sum and XOR where its records have lost their identity."""

    records: int
    total: int | None = None
    xor: int | None = None

    def differs(self, other: Side) -> int:
        """How many records at least are missing or too many on one side."""
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


def side(observed: Mapping[str, Any]) -> Side | None:
    """The side that was observed in a batch; None where nothing was."""
    if "records" not in observed:
        return None
    return Side(observed["records"], observed.get("total"), observed.get("xor"))

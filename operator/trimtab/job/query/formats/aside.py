"""Records that cannot be decoded, kept aside while the others go through the transform.

They travel with the batch's observed metrics, as the bytes that they are, because the transform
must not see them and may not drop them. The driver holds them until they are written elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from trimtab.api.v1alpha1.formats import ERROR
from trimtab.job import gateway
from trimtab.job.batches.progress import ASIDE

COUNT, KEPT = "records", "kept"
POSITION = ["topic", "partition", "offset"]
COLUMNS = ("key", "value", "headers", *POSITION, ERROR)
"""What is kept of a record: its bytes, where it is, and what is wrong with it."""


class Aside(NamedTuple):
    """Those of one batch."""

    total: int
    records: DataFrame | None
    """With `COLUMNS`; the first of them if there are more than may be kept. None: there is none."""


def keeping(frame: DataFrame, most: int) -> DataFrame:
    """The frame of `undecodable.decoded` without its errors, of which `most` are kept per batch."""
    record, place = f"struct({', '.join(COLUMNS)})", f"struct({', '.join(POSITION)})"
    kept = f"min_by({record}, IF({ERROR} IS NULL, NULL, {place}), {most})"
    seen = F.count_if(F.col(ERROR).isNotNull()).alias(COUNT), F.expr(kept).alias(KEPT)
    return frame.observe(ASIDE, *seen).where(F.col(ERROR).isNull()).drop(ERROR)


def of_batch() -> Aside:
    """Those of the batch that is being written, every row of which has been computed."""
    row = gateway.observed(ASIDE)
    if row is None or not row.getLong(0):
        return Aside(0, None)
    count, kept = int(row.getLong(0)), row.getSeq(1)
    records = gateway.frame_of(kept, row.schema().apply(KEPT).dataType().elementType())
    if count > kept.size():
        return Aside(count, records)
    once = records.dropDuplicates(POSITION)  # a task that ran again has counted them again
    return Aside(once.count(), once)

"""Rows that Spark makes by itself as a pipeline's source: there is no Kafka."""

from __future__ import annotations

from pydantic import Field

from trimtab.api.common import ApiModel
from trimtab.api.endpoints import RateSourceDocument

MOST_ROWS = 10**7
MOST_PARTITIONS = 1000


class RateSource(ApiModel):
    """So many rows a second, each with the time at which it was due and its number."""

    rows_per_second: int = Field(
        alias="rowsPerSecond", ge=1, le=MOST_ROWS, description="Rows that are made each second."
    )
    partitions: int = Field(
        1, ge=1, le=MOST_PARTITIONS, description="Tasks that make the rows of a batch."
    )

    def document(self) -> RateSourceDocument:
        """The source in `job.json`."""
        return RateSourceDocument(
            kind="rate", rows_per_second=self.rows_per_second, partitions=self.partitions
        )

"""Files as the sink: each batch has a directory of its own, which a replay replaces.

Readers of the whole directory see the column `batch`, the name of the directory.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from trimtab.api import endpoints
from trimtab.errors import TransformError
from trimtab.job import gateway
from trimtab.job.query.sinks.plain import StoringSink, require_columns

COLUMN = "batch"
"""The column that the names of the directories add for readers."""


class FilesSink(StoringSink):
    """Writes each batch to `<uri>/batch=<query>-<number>`."""

    on_replay = "its files are replaced, so each record is there once"

    def __init__(self, document: endpoints.FilesSinkDocument) -> None:
        """Nothing is written yet."""
        self._format, self._uri = document.format, document.uri.rstrip("/")
        self._partition_by = document.partition_by

    def prepare(self, frame: DataFrame) -> DataFrame:
        """Accept any columns but `batch`, if they include those to partition by."""
        if COLUMN in frame.columns:
            raise TransformError(
                f"the transform returns a column {COLUMN}, which the names of the directories add"
                " for readers: name it otherwise, or drop it"
            )
        require_columns(frame, self._partition_by, "sink.files.partitionBy")
        return frame

    def write(self, frame: DataFrame, batch_id: int) -> None:
        """Write the batch, in place of what an earlier attempt has left."""
        query = gateway.query_id(frame.sparkSession.sparkContext)
        directory = f"{self._uri}/{COLUMN}={query}-{batch_id:010d}"
        writer = self.spread(frame).write.format(self._format).mode("overwrite")
        writer.partitionBy(*self._partition_by).save(directory)

"""A Delta table as the sink. The table itself knows which batches it has."""

from __future__ import annotations

from pyspark.sql import DataFrame

from trimtab.api import endpoints
from trimtab.job import gateway
from trimtab.job.query.delta import SESSION_CONF
from trimtab.job.query.sinks.plain import StoringSink, require_columns


class DeltaSink(StoringSink):
    """Appends each batch to the table in one transaction that carries the number of the batch."""

    on_replay = "the table refuses a batch that it has, so each record is there once"
    session_conf = SESSION_CONF

    def __init__(self, document: endpoints.DeltaSinkDocument) -> None:
        """Nothing is written yet."""
        self._uri, self._partition_by = document.uri, document.partition_by

    def prepare(self, frame: DataFrame) -> DataFrame:
        """Accept any columns that include those to partition by."""
        require_columns(frame, self._partition_by, "sink.delta.partitionBy")
        return frame

    def write(self, frame: DataFrame, batch_id: int) -> None:
        """Append the batch, unless the table has it already."""
        query = gateway.query_id(frame.sparkSession.sparkContext)
        writer = self.spread(frame).write.format("delta").mode("append")
        writer = writer.option("txnAppId", f"trimtab-{query}").option("txnVersion", batch_id)
        writer.partitionBy(*self._partition_by).save(self._uri)

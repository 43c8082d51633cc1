"""A Delta table as the sink. The table itself knows which batches it has."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from trimtab.api import endpoints
from trimtab.job import gateway
from trimtab.job.query.sinks.plain import PlainSink, require_columns


class DeltaSink(PlainSink):
    """Appends each batch to the table in one transaction that carries the number of the batch."""

    on_replay = "the table refuses a batch that it has, so each record is there once"
    session_conf: Mapping[str, str] = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # the log of a table is small: Delta's default of 50 tasks costs seconds in each batch
        "spark.databricks.delta.snapshotPartitions": "2",
    }

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
        writer = frame.write.format("delta").mode("append")
        writer = writer.option("txnAppId", f"trimtab-{query}").option("txnVersion", batch_id)
        writer.partitionBy(*self._partition_by).save(self._uri)

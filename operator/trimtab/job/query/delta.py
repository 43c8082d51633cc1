"""What a session needs for Delta tables, to read or to write them."""

from __future__ import annotations

from collections.abc import Mapping

SESSION_CONF: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # the log of a table is small: Delta's default of 50 tasks costs seconds in each batch
    "spark.databricks.delta.snapshotPartitions": "2",
}

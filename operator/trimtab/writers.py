"""Functions for `sink.foreachBatch` that are ready to use.

    sink:
      foreachBatch: {module: "trimtab.writers:iceberg", params: {catalog: lake, table: shop.orders}}

They need packages that the image does not have: docs/sinks.md says which.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

MARK = "trimtab.batch."
"""Property of an Iceberg table: the last batch of a query that it has, by the query's id."""


def iceberg(frame: Any, batch_id: int, params: Mapping[str, str]) -> None:
    """Append a batch to an Iceberg table, unless the table has it: exactly once after a replay.

    Rows and the number of the batch are in one transaction. The batch goes through the driver,
    which must have memory for it: Spark's own writer for Iceberg does not run on this Spark.

    `params` has `table`, like `shop.orders`, which must exist, and `catalog`, the name of one of
    PyIceberg's; its settings are in PYICEBERG_CATALOG__<NAME>__URI and the like.

    Raises:
        pyiceberg.exceptions.NoSuchTableError: there is no such table.
        ValueError: the columns do not fit the table's.
    """
    catalogs = importlib.import_module("pyiceberg.catalog")  # not in the image
    table = catalogs.load_catalog(params["catalog"]).load_table(params["table"])
    query = frame.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    written = table.properties.get(MARK + query)
    if written is not None and int(written) >= batch_id:
        return
    rows = frame.toArrow()
    with table.transaction() as change:
        if rows.num_rows:
            change.append(rows)
        change.set_properties({MARK + query: str(batch_id)})

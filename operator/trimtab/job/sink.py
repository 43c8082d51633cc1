"""The one way out of a query: a foreachBatch writer behind the gate.

The producer's options are read from one dict at each batch, so they change from one batch to
the next without a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from trimtab.api.contract import Sink
from trimtab.errors import TransformError
from trimtab.job.boundary import Gate
from trimtab.job.progress import SINK

KAFKA_TYPES = {"string", "binary"}


def prepare(frame: DataFrame, sink: Sink) -> DataFrame:
    """The frame as it is handed to the writer, its records counted on the way.

    Raises:
        TransformError: the columns do not suit the sink.
    """
    if sink.kind == "kafka":
        frame = _kafka_columns(frame)
    return frame.observe(SINK, F.count(F.lit(1)).alias("records"))


def _kafka_columns(frame: DataFrame) -> DataFrame:
    types = dict(frame.dtypes)
    if types.get("value") not in KAFKA_TYPES:
        found = types.get("value", "missing")
        raise TransformError(
            f"a Kafka sink needs a column `value` of string or binary, it is {found}: "
            "select it, e.g. CAST(... AS STRING) AS value or to_json(struct(...)) AS value"
        )
    if types.get("key", "binary") not in KAFKA_TYPES:
        raise TransformError(f"the column `key` must be string or binary, it is {types['key']}")
    # Spark would take columns named topic or partition as where to write to
    keep = [c for c in frame.columns if c in {"key", "value", "headers"}]
    return frame.select(*keep)


class BatchWriter:
    """What Spark calls once a batch."""

    def __init__(
        self, sink: Sink, gate: Gate, options: Mapping[str, str], begin: Callable[[int], None]
    ) -> None:
        """`begin` hears the id of each batch that passes the gate."""
        self._sink = sink
        self._gate = gate
        self._options = options
        self._begin = begin
        self.failure: Exception | None = None
        """What the last write raised."""

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Write one batch; raises GateClosedError instead when the query is stopping."""
        self._gate.enter(batch_id)
        self._begin(batch_id)
        try:
            self._write(frame)
        except Exception as error:
            self.failure = error
            raise

    def _write(self, frame: DataFrame) -> None:
        if self._sink.kind == "noop":
            frame.write.format("noop").mode("append").save()
            return
        target = {
            "kafka.bootstrap.servers": self._sink.bootstrap_servers or "",
            "topic": self._sink.topic or "",
        }
        frame.write.format("kafka").options(**{**self._options, **target}).save()

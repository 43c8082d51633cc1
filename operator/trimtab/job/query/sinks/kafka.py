"""A Kafka topic as the sink. Its producer's knobs change from one batch to the next."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from trimtab.api import endpoints
from trimtab.api.knobs import (
    KNOBS,
    PRODUCER_BATCH,
    PRODUCER_COMPRESSION,
    PRODUCER_IN_FLIGHT,
    PRODUCER_LINGER,
)
from trimtab.errors import TransformError
from trimtab.job.query.sinks.size import MOST_SENT
from trimtab.job.query.topics import START_TIMEOUT_S, answered, require_topics
from trimtab.kafka.admin import KafkaAdmin
from trimtab.kafka.java import spark_options

TYPES = {"string", "binary"}
"""Types that the columns `key` and `value` may have."""

OPTIONS = {
    PRODUCER_IN_FLIGHT.name: "kafka.max.in.flight.requests.per.connection",
    PRODUCER_BATCH.name: "kafka.batch.size",
    PRODUCER_LINGER.name: "kafka.linger.ms",
    PRODUCER_COMPRESSION.name: "kafka.compression.type",
}
"""The option of Spark's Kafka sink for each of its knobs."""

SAFE = {"kafka.enable.idempotence": "true"}
"""Kafka's own default, set explicitly: a producer that could not keep the order then refuses to
start instead of silently giving up idempotence. It allows at most 5 requests in flight."""


def producer_options(knobs: Mapping[str, float]) -> dict[str, str]:
    """The options for the knobs that are set."""
    said = {option: name for name, option in OPTIONS.items() if name in knobs}
    return SAFE | {option: KNOBS[name].format(knobs[name]) for option, name in said.items()}


class KafkaSink:
    """Writes each batch to one topic."""

    knobs = tuple(OPTIONS)
    phases = ("sink",)
    on_replay = "its records are written again, so some of them may be duplicated"

    ignores = ("topic", "partition", "timestamp")
    session_conf: Mapping[str, str] = {}
    spent_s: Mapping[str, float] = {}

    def __init__(self, document: endpoints.KafkaSinkDocument) -> None:
        """Connects on first use."""
        self._topic = document.topic
        self._admin = KafkaAdmin(document.connection, START_TIMEOUT_S)
        more = {f"kafka.{name}": each for name, each in (document.options or {}).items()}
        self._target = {**more, **spark_options(document.connection), "topic": document.topic}
        self.most_sent = int(more.get("kafka.max.request.size", MOST_SENT))
        """Bytes of the largest record that the producer sends."""
        self._options: Mapping[str, str] = SAFE
        self._began: int | None = None

    def require(self) -> None:
        """Raise JobFailureError if the topic is missing, or a healing one without an answer."""
        require_topics(self._admin, [self._topic], "sink")
        if self._began is None:
            with answered():
                self._began = self._ends()

    def arrived(self) -> int | None:
        """By how much the topic's end offsets have grown; below 0 if it was created again."""
        return None if self._began is None else self._ends() - self._began

    def _ends(self) -> int:
        """The sum of the end offsets of all partitions; raises UnavailableError."""
        partitions = self._admin.partitions([self._topic])
        return sum(self._admin.end_offsets(partitions, committed=False).values())

    def prepare(self, frame: DataFrame) -> DataFrame:
        """Select `value`, and `key` and `headers` if they exist.

        Raises:
            TransformError: `value` is missing, or a column has the wrong type.
        """
        types = dict(frame.dtypes)
        if types.get("value") not in TYPES:
            found = types.get("value", "missing")
            raise TransformError(
                f"a Kafka sink needs a column `value` of string or binary, it is {found}: "
                "select it, e.g. CAST(... AS STRING) AS value or to_json(struct(...)) AS value"
            )
        if types.get("key", "binary") not in TYPES:
            raise TransformError(f"the column `key` must be string or binary, it is {types['key']}")
        # Spark would use columns named topic or partition as the destination
        keep = [c for c in frame.columns if c in {"key", "value", "headers"}]
        return frame.select(*keep)

    def follow(self, knobs: Mapping[str, float]) -> None:
        """Set the producer's options for the next batch."""
        self._options = producer_options(knobs)

    @property
    def options(self) -> dict[str, str]:
        """Of Spark's Kafka sink, with the producer's."""
        return {**self._options, **self._target}

    def write(self, frame: DataFrame, batch_id: int) -> None:
        """Append the records to the topic."""
        del batch_id
        frame.write.format("kafka").options(**self.options).save()

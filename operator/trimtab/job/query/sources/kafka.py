"""Kafka topics as the source, with ledger and latency observed right where records are read."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from trimtab.api import contract, endpoints, offsets, placement
from trimtab.api.knobs import (
    FETCH_MAX,
    FETCH_PARTITION,
    MAX_OFFSETS,
    MAX_PER_PARTITION,
    MIN_PARTITIONS,
)
from trimtab.api.topics import is_pattern
from trimtab.api.v1alpha1.formats import ERROR
from trimtab.job.batches import ledger
from trimtab.job.batches.progress import observation
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.culprits import Span
from trimtab.job.query.formats import aside as kept_aside
from trimtab.job.query.formats import undecodable
from trimtab.job.query.formats.decoder import Decoder
from trimtab.job.query.offset_log import Offsets
from trimtab.job.query.protocols import VIEW
from trimtab.job.query.sources import ages
from trimtab.job.query.topics import START_TIMEOUT_S, identity_of, partitions_of, require_topics
from trimtab.job.termination import Cause, JobFailureError
from trimtab.kafka.admin import KafkaAdmin, KafkaIdentity
from trimtab.kafka.java import spark_options
from trimtab.sizing import batches

CONSUMER = {
    # Without these it takes minutes to notice that a broker is gone. The client itself retries for
    # Kafka's default of a minute: a task that gives up while brokers are replaced may write twice.
    "kafka.request.timeout.ms": "10000",
    "fetchOffset.numRetries": "1",
    # A task seeks while the consumer's previous fetch is still waiting for new records at the end
    # of the log. With Kafka's default of 500 ms each task took 0.55 s, now it takes 0.08 s.
    "kafka.fetch.max.wait.ms": "10",
}
CLOSEST_REPLICA = {
    # the executor's own zone: the client reads the variable where the consumer is created
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "config.providers.env.param.allowlist.pattern": f"^{placement.ZONE_VARIABLE}$",
    "client.rack": f"${{env:{placement.ZONE_VARIABLE}}}",
}

READ_COMMITTED = "read_committed"

NAME = "trimtab.source"
"""An option that Spark ignores: it tells the streams of a plan apart."""

MOST_FETCHED = 32 << 20
"""Upper limit of a fetch size, in bytes: each task holds one fetch in memory."""

OPTIONS = {
    MAX_OFFSETS.name: MAX_OFFSETS.name,
    MIN_PARTITIONS.name: MIN_PARTITIONS.name,
    MAX_PER_PARTITION.name: MAX_PER_PARTITION.name,
    FETCH_PARTITION.name: "kafka.max.partition.fetch.bytes",
    FETCH_MAX.name: "kafka.fetch.max.bytes",
}
"""The option of Spark's Kafka source for each of its knobs."""


class OffsetSource:
    """What one Kafka and several have in common: the checkpoint holds the offsets of each batch."""

    knobs: Collection[str] = tuple(OPTIONS)
    phases: Collection[str] = ("latest_offset",)
    session_conf: Mapping[str, str] = {}
    on_replay = "the same offsets are read again"

    def planned(self, checkpoint: Checkpoint, batch_id: int) -> int | None:
        """Records in a planned batch, by its offsets; None if they are not known."""
        return checkpoint.batch_records(batch_id)

    def fitted(
        self, knobs: Mapping[str, float], record_bytes: float | None, partitions: int
    ) -> dict[str, float]:
        """The fetch sizes that fit a full batch, see `fetch_sizes`."""
        return fetch_sizes(knobs, record_bytes, partitions)


class KafkaSource(OffsetSource):
    """Reads topics of one Kafka."""

    def __init__(
        self, document: endpoints.KafkaSourceDocument, aside: int | None = None, name: str = ""
    ) -> None:
        """Connects on first use; `aside` as in `open_source`, `name` as one of several."""
        self._name = name
        self._topics = document.topics
        self._by = "subscribePattern" if any(map(is_pattern, self._topics)) else "subscribe"
        self._more = {f"kafka.{name}": each for name, each in (document.options or {}).items()}
        self._aside = aside if document.format else None
        self._shows_headers = document.include_headers
        self._hides_headers = self._aside is not None and not self._shows_headers
        self._reading: dict[str, str] = {}
        if document.include_headers or self._hides_headers:
            self._more["includeHeaders"] = "true"
        if document.group_id_prefix:
            self._more["groupIdPrefix"] = document.group_id_prefix
        self._connection = document.connection
        self.admin = KafkaAdmin(document.connection, START_TIMEOUT_S)
        """Asks that Kafka."""
        self._decoder = undecodable.decoder_of(document.format) if document.format else None

    @property
    def topics(self) -> list[str]:
        """The topics that are read."""
        return self._topics

    def require(self) -> None:
        """Raise JobFailureError if a topic is missing, or a healing one without an answer."""
        found = require_topics(self.admin, self._topics, "source")
        if self._decoder is not None:
            self._decoder.require(sorted(found))

    def meaning(self, causes: Sequence[Cause]) -> JobFailureError | None:
        """A record that cannot be decoded, or one of a schema that is new."""
        if self._decoder is None:
            return None
        return self._decoder.meaning(causes) or undecodable.meaning(causes)

    def identity(self) -> KafkaIdentity:
        """The ids of the cluster and of the topics; raises a healing JobFailureError."""
        return identity_of(self.admin, self._topics)

    def partition_count(self) -> int:
        """Partitions of all topics; raises a healing JobFailureError without an answer."""
        return sum(partitions_of(self.admin, self._topics).values())

    def reads(self, option: Callable[[str], str | None]) -> bool:
        """Whether a stream with these options reads exactly these topics."""
        if self._name:
            return option(NAME) == self._name
        subscribed = option("subscribe") or option("subscribePattern")
        return subscribed is not None and set(str(subscribed).split(",")) == set(self._topics)

    def read(
        self,
        session: SparkSession,
        options: contract.SourceOptions,
        knobs: Mapping[str, float],
        begin: Offsets | None = None,
        *,
        at_once: bool = False,
    ) -> Mapping[str, DataFrame]:
        """Kafka's columns, and the decoded value as the column `record` if there is a format.

        Each batch also yields its side of the ledger and the distribution of the records' Kafka
        timestamps, in milliseconds since 1970. An executor reads from a broker in its own zone if
        there is one.
        """
        self._reading = {
            **CONSUMER,
            **spark_options(self._connection, CLOSEST_REPLICA),
            "kafka.isolation.level": options.isolation_level or READ_COMMITTED,
            **self._more,
        }
        said = {
            **self._reading,
            self._by: ",".join(self._topics),
            **self._start(options.starting_offsets, begin),
            "failOnDataLoss": str(options.fail_on_data_loss).lower(),
            **({} if at_once else limits(knobs)),
            **({NAME: self._name} if self._name else {}),
        }
        frame = session.readStream.format("kafka").options(**said).load()
        if self._decoder is not None:
            frame = self._decoded(frame, self._decoder)
        view, observed = self._name or VIEW, observation(self._name)
        if at_once:
            return {view: ages.when_read(frame, observed, *_read())}
        return {view: frame.observe(observed, *observations())}

    def again(self, session: SparkSession, spans: Sequence[Span]) -> DataFrame:
        """Kafka's columns of records that were read before, with headers, and no stream.

        Those that Kafka does not have any longer are left out.
        """
        first: dict[str, dict[str, int]] = defaultdict(dict)
        end: dict[str, dict[str, int]] = defaultdict(dict)
        for each in spans:
            first[each.topic][str(each.partition)] = each.first
            end[each.topic][str(each.partition)] = each.end
        said = {
            **self._reading,
            "assign": json.dumps({topic: sorted(map(int, each)) for topic, each in first.items()}),
            "startingOffsets": json.dumps(first),
            "endingOffsets": json.dumps(end),
            "failOnDataLoss": "false",
            "includeHeaders": "true",
        }
        return session.read.format("kafka").options(**said).load()

    def told_apart(self, frame: DataFrame) -> tuple[DataFrame, DataFrame | None]:
        """Of `again`: what the transform sees, and what cannot be decoded, with its `error`."""
        bad = None
        if self._decoder is not None:
            frame = undecodable.decoded(frame, self._decoder)
            bad = frame.where(F.col(ERROR).isNotNull()).select(*kept_aside.COLUMNS)
            frame = frame.where(F.col(ERROR).isNull()).drop(ERROR)
        return (frame if self._shows_headers else frame.drop("headers")), bad

    def _decoded(self, frame: DataFrame, decoder: Decoder) -> DataFrame:
        frame = undecodable.decoded(frame, decoder)
        if self._aside is None:
            return undecodable.failing(frame)
        frame = kept_aside.keeping(frame, self._aside)
        return frame.drop("headers") if self._hides_headers else frame

    def _start(self, start: str, begin: Offsets | None) -> dict[str, str]:
        """The options that say where a new checkpoint begins."""
        if (at_ms := offsets.time_ms(start)) is not None and begin is None:
            # a partition without any later record begins at its end
            latest = {"startingOffsetsByTimestampStrategy": offsets.LATEST}
            return {"startingTimestamp": str(at_ms), **latest}
        said = offsets.by_partition(start)
        if said is None and begin is None:
            return {"startingOffsets": start}
        counts = partitions_of(self.admin, self._topics)
        return {"startingOffsets": json.dumps(complete(counts, start, said or {}, begin or {}))}


def complete(
    partitions: Mapping[str, int], start: str, said: offsets.TopicOffsets, begin: Offsets
) -> dict[str, dict[str, int]]:
    """An offset for each partition, as Spark requires: that of `begin`, else the one that was said.

    Another partition of a topic that is known begins at its first record, so that none is skipped;
    a topic that is not known begins at `start`, or at its first record if that is a time.
    """
    known = {topic for topic, _ in begin} | set(said)
    first, new = offsets.SPECIAL[offsets.EARLIEST], offsets.SPECIAL.get(start)
    return {
        topic: {
            str(number): begin.get(
                (topic, number),
                said.get(topic, {}).get(number, first if topic in known or new is None else new),
            )
            for number in range(count)
        }
        for topic, count in partitions.items()
    }


def limits(knobs: Mapping[str, float]) -> dict[str, str]:
    """The options for the knobs that are set; for the others Spark has its own defaults."""
    return {option: str(int(knobs[name])) for name, option in OPTIONS.items() if name in knobs}


def fetch_sizes(
    knobs: Mapping[str, float], record_bytes: float | None, partitions: int
) -> dict[str, float]:
    """Fetch sizes with which a full batch takes one fetch per partition: its bytes / partitions.

    Empty if Kafka's default is large enough, if a size is set, and while the size of a record is
    unknown.
    """
    said = FETCH_PARTITION.name in knobs or FETCH_MAX.name in knobs
    if said or not record_bytes or not partitions:
        return {}
    limit = min(knobs[MAX_OFFSETS.name], knobs.get(MAX_PER_PARTITION.name, math.inf) * partitions)
    share = batches.fetch_bytes(batches.batch_kb(int(limit), record_bytes), partitions)
    if share <= FETCH_PARTITION.default:
        return {}
    size = min(batches.power_of_two_above(share), MOST_FETCHED)
    return {FETCH_PARTITION.name: size, FETCH_MAX.name: max(size, FETCH_MAX.default)}


def observations() -> list[Column]:
    """What to observe of a batch's records: their side of the ledger, their bytes and times."""
    return [*_read(), *ages.observations("timestamp")]


def _read() -> list[Column]:
    """What to observe of the records that are read."""
    return [
        *ledger.observations(ledger.IDENTITY),
        F.sum(
            F.coalesce(F.length("key"), F.lit(0)) + F.coalesce(F.length("value"), F.lit(0))
        ).alias("bytes"),
    ]

"""The knobs: one list for settings.json, status.effective, pinned, initial and scenarios.

A name with a dot belongs to a group: `producer.lingerMs` is written `producer: {lingerMs: 5}`. The
number of a word is its index in the knob's list of words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from trimtab.api.quantities import Duration, between, format_duration

TRIGGERS_S = (0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0)
"""The triggers that the batch-size knob chooses from, in seconds."""

MAX_EXECUTORS = 1000

SCOPES = ("Process", "Node", "Zone", "Any")
"""How far from its data a task may run, narrowest first; settings hold the index."""

PROCESS, NODE, ZONE, ANY = range(len(SCOPES))

COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
"""How the Kafka sink packs its batches; settings hold the index."""

WRITERS = ("Tasks", "Slots")
"""What writes a batch into a table or files; settings hold the index."""


class How(StrEnum):
    """How a change reaches the running driver, cheapest first."""

    LIVE = "live"
    QUERY = "query"
    DRIVER = "driver"


@dataclass(frozen=True, slots=True)
class Knob:
    """One tunable value: its name in the API, how it is applied, and its limits.

    `default` is the value of an unset knob. The driver sets it explicitly only if `always` is true;
    otherwise it is the default of Spark or Kafka, and the driver sets nothing.
    """

    name: str
    how: How
    default: float
    minimum: float
    maximum: float
    unit: str
    always: bool = False
    words: tuple[str, ...] = ()

    def format(self, value: float) -> str:
        """The value for people, with its unit if it has one."""
        if self.words:
            return self.words[int(value)]
        return format_duration(value) if self.unit == "s" else str(int(value))

    def plain(self, value: float) -> float | int | str:
        """A number as the API writes it: a word, seconds, or a whole number."""
        if self.words:
            return self.words[int(value)]
        return float(value) if self.unit == "s" else int(value)

    def number(self, value: float | str) -> float:
        """An API value as a number; the inverse of `plain`."""
        return float(self.words.index(value) if isinstance(value, str) else value)


EXECUTORS = Knob("executors", How.LIVE, 1, 0, MAX_EXECUTORS, "", always=True)
TRIGGER = Knob("trigger", How.QUERY, 10.0, 0.0, 3600.0, "s", always=True)
MAX_OFFSETS = Knob("maxOffsetsPerTrigger", How.QUERY, 10_000, 1, 10**9, "records", always=True)

MIN_PARTITIONS = Knob("minPartitions", How.QUERY, 1, 1, 10_000, "tasks")
TOPIC_PARTITIONS = Knob("topicPartitions", How.LIVE, 1, 1, 1000, "partitions")
"""Partitions of the source's topic: requested from the KafkaCluster, not from the driver."""

EXECUTOR_CORES = Knob("executor.cores", How.DRIVER, 1, 1, 64, "")
"""Task slots of an executor: changing them replaces the pods, so it restarts the driver."""

MAX_PER_PARTITION = Knob("maxRecordsPerPartition", How.QUERY, 10**9, 1, 10**9, "records")
FETCH_PARTITION = Knob("fetch.maxPartitionBytes", How.QUERY, 1 << 20, 1 << 10, 1 << 30, "bytes")
FETCH_MAX = Knob("fetch.maxBytes", How.QUERY, 50 << 20, 1 << 10, 1 << 30, "bytes")

MAX_IN_FLIGHT = Knob("maxInFlight", How.LIVE, 1, 1, 1000, "calls")

PRODUCER_IN_FLIGHT = Knob("producer.maxInFlight", How.LIVE, 5, 1, 5, "requests")
"""Requests in flight per broker; with more than 5, an idempotent producer cannot keep the order."""

PRODUCER_BATCH = Knob("producer.batchSize", How.LIVE, 16 << 10, 0, 1_000_000, "bytes")
"""Bytes per partition and request; a broker refuses more than its message.max.bytes."""

PRODUCER_LINGER = Knob("producer.lingerMs", How.LIVE, 0, 0, 1000, "ms")
PRODUCER_COMPRESSION = Knob(
    "producer.compression", How.LIVE, 0, 0, len(COMPRESSIONS) - 1, "", words=COMPRESSIONS
)
SCOPE = Knob("locality.scope", How.LIVE, 0, 0, len(SCOPES) - 1, "scope", words=SCOPES)

SINK_WRITERS = Knob("sink.writers", How.LIVE, 0, 0, len(WRITERS) - 1, "", words=WRITERS)

PRODUCER_KNOBS = (PRODUCER_IN_FLIGHT, PRODUCER_BATCH, PRODUCER_LINGER, PRODUCER_COMPRESSION)

ALL_KNOBS = (
    EXECUTORS, TRIGGER, MAX_OFFSETS, MIN_PARTITIONS, MAX_IN_FLIGHT, SCOPE, TOPIC_PARTITIONS,
    EXECUTOR_CORES, *PRODUCER_KNOBS, SINK_WRITERS,
)  # fmt: skip
"""Every knob that the control law moves."""

BY_NAME: Mapping[str, Knob] = {knob.name: knob for knob in ALL_KNOBS}
"""The same by name."""

FIXED_KNOBS = (MAX_PER_PARTITION, FETCH_PARTITION, FETCH_MAX)
"""Every knob that no law moves: `initial` and `pinned` both set it, `pinned` last."""

KNOBS: Mapping[str, Knob] = {
    k.name: k
    for k in (
        EXECUTORS, TRIGGER, MAX_OFFSETS, MIN_PARTITIONS, *FIXED_KNOBS, MAX_IN_FLIGHT,
        *PRODUCER_KNOBS, SINK_WRITERS, SCOPE,
    )
}  # fmt: skip
"""Every knob that the driver applies, by name."""


class _Group(BaseModel):
    """Knobs that belong together; absent means unset."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class FetchKnobs(_Group):
    """How much Kafka's consumer fetches at once."""

    max_partition_bytes: int | None = Field(
        None,
        alias="maxPartitionBytes",
        ge=FETCH_PARTITION.minimum,
        le=FETCH_PARTITION.maximum,
        description="Bytes of one partition in one fetch (max.partition.fetch.bytes)."
        " Changed by a query restart.",
    )
    max_bytes: int | None = Field(
        None,
        alias="maxBytes",
        ge=FETCH_MAX.minimum,
        le=FETCH_MAX.maximum,
        description="Bytes of one fetch (fetch.max.bytes). Changed by a query restart.",
    )


class ProducerKnobs(_Group):
    """How the Kafka sink sends. Changed live, from one batch to the next."""

    max_in_flight: int | None = Field(
        None,
        alias="maxInFlight",
        ge=PRODUCER_IN_FLIGHT.minimum,
        le=PRODUCER_IN_FLIGHT.maximum,
        description="Requests in flight to each broker. At most 5: more would not keep the order.",
    )
    batch_size: int | None = Field(
        None,
        alias="batchSize",
        ge=PRODUCER_BATCH.minimum,
        le=PRODUCER_BATCH.maximum,
        description="Bytes of one partition that are sent together.",
    )
    linger_ms: int | None = Field(
        None,
        alias="lingerMs",
        ge=PRODUCER_LINGER.minimum,
        le=PRODUCER_LINGER.maximum,
        description="Milliseconds to wait for more records of the same partition.",
    )
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] | None = Field(
        None, description="How each batch of records is compressed."
    )


class SinkKnobs(_Group):
    """How a batch gets into a table or files. Changed live, from one batch to the next."""

    writers: Literal["Tasks", "Slots"] | None = Field(
        None,
        description="Tasks: each task of the query writes. Slots: the results are shuffled to one"
        " writer per task slot, for fewer files and connections.",
    )


class LocalityKnobs(_Group):
    """How close to their data tasks run. Changed live."""

    scope: Literal["Process", "Node", "Zone", "Any"] | None = Field(
        None,
        description="Process: tasks wait for the executor that read the partition before."
        " Node, Zone: new executors go to the nodes or zones of the brokers. Any: neither.",
    )


class KnobValues(BaseModel):
    """A value for some or all knobs; absent means unset."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    executors: int | None = Field(
        None, ge=0, le=MAX_EXECUTORS, description="Executor pods. Changed live."
    )
    trigger: Annotated[Duration, between(TRIGGER.minimum, TRIGGER.maximum)] | None = Field(
        None,
        description="Time between the starts of two micro-batches. Changed by a query restart.",
    )
    max_offsets_per_trigger: int | None = Field(
        None,
        alias="maxOffsetsPerTrigger",
        ge=1,
        le=10**9,
        description="Most records in one micro-batch. Changed by a query restart.",
    )
    min_partitions: int | None = Field(
        None,
        alias="minPartitions",
        ge=MIN_PARTITIONS.minimum,
        le=MIN_PARTITIONS.maximum,
        description="Minimum number of tasks that read a micro-batch; large partitions are split if"
        " it exceeds their number. Changed by a query restart.",
    )
    max_records_per_partition: int | None = Field(
        None,
        alias="maxRecordsPerPartition",
        ge=MAX_PER_PARTITION.minimum,
        le=MAX_PER_PARTITION.maximum,
        description="Most records that one task reads; a larger range is split."
        " Changed by a query restart.",
    )
    fetch: FetchKnobs | None = Field(None, description="How much the source fetches at once.")
    max_in_flight: int | None = Field(
        None,
        alias="maxInFlight",
        ge=MAX_IN_FLIGHT.minimum,
        le=MAX_IN_FLIGHT.maximum,
        description="Calls in flight in each task of a pending_map stage. Changed live.",
    )
    producer: ProducerKnobs | None = Field(None, description="How the Kafka sink sends.")
    sink: SinkKnobs | None = Field(
        None, description="How a batch gets into Delta, files or a database."
    )
    locality: LocalityKnobs | None = Field(None, description="How close to their data tasks run.")

    def numbers(self) -> dict[str, float]:
        """The values that are set, by knob name; durations in seconds, words as indices."""
        return {name: KNOBS[name].number(value) for name, value in _said(self, "")}

    @classmethod
    def of(cls, numbers: Mapping[str, float]) -> KnobValues:
        """The model of plain numbers by knob name; raises ValidationError on an unknown name."""
        document: dict[str, Any] = {}
        for name, number in numbers.items():
            knob = KNOBS.get(name)
            group, _, own = name.rpartition(".")
            place = document.setdefault(group, {}) if group else document
            place[own] = knob.plain(number) if knob else number
        return cls.model_validate(document)


def _said(model: BaseModel, prefix: str) -> Iterator[tuple[str, float | str]]:
    """Every value that is set in a model and its groups, by knob name."""
    for field, info in type(model).model_fields.items():
        value, name = getattr(model, field), prefix + (info.alias or field)
        if isinstance(value, _Group):
            yield from _said(value, f"{name}.")
        elif value is not None:
            yield name, value

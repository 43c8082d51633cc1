"""The parts of a StreamPipeline's spec that define its query: source, dead letters, sink."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from trimtab.api.common import ApiModel, Topic, cel, exactly_one, require_one
from trimtab.api.endpoints import (
    DeadLettersDocument,
    KafkaSinkDocument,
    OneSinkDocument,
    SourceDocument,
)
from trimtab.api.v1alpha1.formats import MOST_ASIDE
from trimtab.api.v1alpha1.kafka_options import ProducerOptions
from trimtab.api.v1alpha1.kafka_reference import KafkaReference
from trimtab.api.v1alpha1.kafka_source import KafkaSource
from trimtab.api.v1alpha1.rate_source import RateSource
from trimtab.api.v1alpha1.sinks import (
    DeltaSink,
    FilesSink,
    FunctionSink,
    JdbcSink,
    NoopSink,
    OtherSink,
)
from trimtab.api.v1alpha1.stored_sources import DeltaSource, FilesSource

LOOP = (
    "the sink's topic is one of the source's topics: the pipeline would read what it writes,"
    " forever; write to another topic"
)


DEAD_LOOP = (
    "deadLetters.topic is one of the source's topics: the pipeline would read what it could not"
    " read, forever; write to another topic"
)


TOO_MANY_ASIDE = (
    f"with source.kafka.format, deadLetters.maxPerBatch is at most {MOST_ASIDE}: the driver holds"
    " such records in memory until they are written"
)


NO_DEAD_LETTERS = (
    "deadLetters go to a topic of the source's Kafka, and this source is none: remove them"
)


_SOURCES = ("kafka", "delta", "files", "rate")
ONE_SOURCE = (
    f"write exactly one source, of {', '.join(_SOURCES)}, like kafka: {{bootstrapServers:"
    " host:port, topics: [clicks]}"
)
RATE = "the rate source"
"""No topic can have this name."""


class Source(ApiModel):
    """Where records come from: exactly one kind."""

    model_config = {"json_schema_extra": cel(exactly_one(_SOURCES, ONE_SOURCE))}
    kafka: KafkaSource | None = None
    delta: DeltaSource | None = Field(None, description="A Delta table that rows are appended to.")
    files: FilesSource | None = Field(None, description="A directory in which files appear.")
    rate: RateSource | None = Field(
        None,
        description="Rows that Spark makes by itself, with the columns timestamp and value: for"
        " tries and canaries, without a Kafka.",
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        require_one((self.kafka, self.delta, self.files, self.rate), ONE_SOURCE)
        return self

    @property
    def offsets_of(self) -> list[str]:
        """What the offsets in a checkpoint count: topics' records, files, or made rows."""
        if self.kafka is not None:
            return sorted(self.kafka.read_topics)
        stored = self.delta or self.files
        return [RATE if stored is None else stored.words]

    def document(self) -> SourceDocument:
        """The source in `job.json`."""
        chosen = self.kafka or self.delta or self.files or self.rate
        assert chosen is not None
        return chosen.document()


class KafkaSink(KafkaReference):
    """A topic of one Kafka cluster."""

    topic: Topic = Field(description="Topic to write to.")
    options: ProducerOptions = Field(
        default_factory=dict, description="Options of Kafka's producer, as text."
    )

    @property
    def words(self) -> str:
        """Where it writes to, in words."""
        return f"topic {self.topic} of {self.where}"

    def document(self) -> KafkaSinkDocument:
        """The sink in `job.json`."""
        return KafkaSinkDocument(
            bootstrap_servers=self.servers,
            topic=self.topic,
            tls=self.tls,
            authentication=self.authentication,
            options=self.options or None,
        )


class DeadLetters(ApiModel):
    """What happens to records that cannot be used."""

    topic: Topic = Field(description="Topic of the source's Kafka that they go to.")
    max_per_batch: int = Field(
        100,
        alias="maxPerBatch",
        ge=0,
        le=10**9,
        description="With more of them in one batch the pipeline stalls, and nothing is written.",
    )
    max_per_minute: int | None = Field(
        None,
        alias="maxPerMinute",
        ge=0,
        le=10**9,
        description="The same for the last minute, as the driver counts it since its start; absent:"
        " only the number in a batch counts.",
    )

    def document(self) -> DeadLettersDocument:
        """The same in `job.json`."""
        return DeadLettersDocument(
            topic=self.topic,
            max_per_batch=self.max_per_batch,
            max_per_minute=self.max_per_minute,
        )


_KINDS = ("kafka", "jdbc", "delta", "files", "foreachBatch", "noop")
ONE_SINK = f"write exactly one sink, of {', '.join(_KINDS)}"


class Sink(ApiModel):
    """Where the results go: exactly one kind."""

    model_config = {"json_schema_extra": cel(exactly_one(_KINDS, ONE_SINK))}
    kafka: KafkaSink | None = None
    jdbc: JdbcSink | None = None
    delta: DeltaSink | None = None
    files: FilesSink | None = None
    foreach_batch: FunctionSink | None = Field(None, alias="foreachBatch")
    noop: NoopSink | None = None
    output_mode: Literal["append", "update"] = Field(
        "append",
        alias="outputMode",
        description="append: each result row once, when it is final. update: a row whenever it"
        " changes.",
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        require_one(self._kinds, ONE_SINK)
        return self

    @property
    def _kinds(self) -> tuple[KafkaSink | OtherSink | None, ...]:
        return self.kafka, self.jdbc, self.delta, self.files, self.foreach_batch, self.noop

    @property
    def _chosen(self) -> KafkaSink | OtherSink:
        return next(kind for kind in self._kinds if kind is not None)

    @property
    def words(self) -> str:
        """Where it writes to, in words."""
        return self._chosen.words

    @property
    def place(self) -> tuple[str, ...] | None:
        """The table or directory that no other sink of the query may write to; None if any may."""
        if self.jdbc is not None:
            return self.jdbc.url, self.jdbc.table
        kept = self.delta or self.files
        return None if kept is None else (type(kept).__name__, kept.uri)

    def document(self) -> OneSinkDocument:
        """The sink in `job.json`."""
        return self._chosen.document()

"""The documents of a job's source and sink: one class for each kind.

`job/query/sources` and `job/query/sinks` have a module for each.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from trimtab.api.connection import KafkaConnection
from trimtab.api.offsets import Start
from trimtab.api.v1alpha1.formats import Format
from trimtab.api.v1alpha1.kafka_client import (
    Authentication,
    PasswordSecret,
    SecretKey,
    Security,
    Tls,
)


class Document(BaseModel):
    """A part of what the operator writes and the driver reads."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the contract's key names."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def to_json(self) -> str:
        """The document as stable, readable JSON."""
        return json.dumps(self.to_dict(), indent=1, sort_keys=True)


class Part(Document):
    """A source or a sink."""

    @property
    def secret_keys(self) -> tuple[SecretKey, ...]:
        """What it needs of Secrets."""
        return ()


class OnKafka(Part):
    """A part of the job that connects to a Kafka cluster."""

    bootstrap_servers: str = Field(alias="bootstrapServers")
    tls: Tls | None = None
    authentication: Authentication | None = None
    options: dict[str, str] | None = Field(None, description="more options of Kafka's client")

    @property
    def security(self) -> Security:
        """TLS and login."""
        return Security(tls=self.tls, authentication=self.authentication)

    @property
    def connection(self) -> KafkaConnection:
        """How to connect to the cluster."""
        return KafkaConnection(self.bootstrap_servers, self.security)

    @property
    def secret_keys(self) -> tuple[SecretKey, ...]:
        """What its connection needs."""
        return self.security.secret_keys


class KafkaSourceDocument(OnKafka):
    """Where records come from."""

    topics: list[str] = Field(description="names, or one pattern, which begins with ^")
    include_headers: Literal[True] | None = Field(None, alias="includeHeaders")
    group_id_prefix: str | None = Field(None, alias="groupIdPrefix")
    commit_group: str | None = Field(
        None, alias="commitGroup", description="consumer group that shows the position"
    )
    format: Format | None = Field(None, description="absent: values are not decoded")

    @property
    def secret_keys(self) -> tuple[SecretKey, ...]:
        """What its connection needs, and the registry of its format."""
        return (*super().secret_keys, *(self.format.secret_keys if self.format else ()))


class NamedSourceDocument(Document):
    """One of several sources: a view of its name."""

    name: str
    source: KafkaSourceDocument
    starting_offsets: Start = Field("latest", alias="startingOffsets")
    fail_on_data_loss: bool = Field(True, alias="failOnDataLoss")
    isolation_level: Literal["read_uncommitted"] | None = Field(
        None, alias="isolationLevel", description="absent: read_committed"
    )


class SeveralSourcesDocument(Part):
    """Records of several Kafkas, or of topics that are read apart."""

    kind: Literal["several"] = "several"
    sources: tuple[NamedSourceDocument, ...]

    @property
    def secret_keys(self) -> tuple[SecretKey, ...]:
        """What they need."""
        return tuple(key for each in self.sources for key in each.source.secret_keys)


class RateSourceDocument(Part):
    """Rows that Spark makes by itself."""

    kind: Literal["rate"]
    rows_per_second: int = Field(alias="rowsPerSecond")
    partitions: int


class _StoredDocument(Part):
    """Rows of files that are added to a place."""

    uri: str
    time_column: str = Field(alias="timeColumn")
    max_files: int | None = Field(None, alias="maxFilesPerTrigger")


class DeltaSourceDocument(_StoredDocument):
    """Rows that are appended to a Delta table."""

    kind: Literal["delta"]
    starting_version: int | None = Field(
        None, alias="startingVersion", description="absent: all that is in it, at first"
    )
    skip_change_commits: Literal[True] | None = Field(None, alias="skipChangeCommits")


class FilesSourceDocument(_StoredDocument):
    """Rows of files that appear in a directory."""

    kind: Literal["files"]
    format: Literal["parquet", "json", "csv"]
    schema_: str = Field(alias="schema")


def _kind(source: Any) -> str:
    """The kind of a source: older documents know one, and do not name it."""
    said = source.get("kind") if isinstance(source, dict) else getattr(source, "kind", None)
    return str(said or "kafka")


SourceDocument = Annotated[
    Annotated[KafkaSourceDocument, Tag("kafka")]
    | Annotated[SeveralSourcesDocument, Tag("several")]
    | Annotated[RateSourceDocument, Tag("rate")]
    | Annotated[DeltaSourceDocument, Tag("delta")]
    | Annotated[FilesSourceDocument, Tag("files")],
    Discriminator(_kind),
]
"""Where records come from. `job/query/sources` has a module for each kind."""


class KafkaSinkDocument(OnKafka):
    """The results go to a Kafka topic."""

    kind: Literal["kafka"] = "kafka"
    topic: str


class NoopSinkDocument(Part):
    """The results are computed and discarded."""

    kind: Literal["noop"] = "noop"


class FunctionSinkDocument(Part):
    """The results go to a function of the user."""

    kind: Literal["foreachBatch"] = "foreachBatch"
    module: str = Field(description="module:function of write(df, batch_id[, params])")
    params: dict[str, str] | None = Field(None, description="absent: the function gets none")


class FilesSinkDocument(Part):
    """The results go to files, a directory for each batch."""

    kind: Literal["files"] = "files"
    format: Literal["parquet", "json", "csv"]
    uri: str
    partition_by: list[str] = Field(default_factory=list, alias="partitionBy")


class DeltaSinkDocument(Part):
    """The results go to a Delta table, a transaction for each batch."""

    kind: Literal["delta"] = "delta"
    uri: str
    partition_by: list[str] = Field(default_factory=list, alias="partitionBy")


class JdbcSinkDocument(Part):
    """The results go to a table of a database, one row for each key."""

    kind: Literal["jdbc"] = "jdbc"
    url: str
    table: str
    keys: list[str]
    latest: str | None = Field(None, description="column; absent: any row of a key wins")
    name: str | None = Field(
        None, description="tells its batches from those of the query's other tables"
    )
    username: str
    password_secret: PasswordSecret = Field(alias="passwordSecret")

    @property
    def secret_keys(self) -> tuple[SecretKey, ...]:
        """The password."""
        return (self.password_secret.held,)


class DeadLettersDocument(Document):
    """Where rows with an error go: a topic of the source's Kafka."""

    topic: str
    max_per_batch: int = Field(alias="maxPerBatch")
    max_per_minute: int | None = Field(
        None, alias="maxPerMinute", description="absent: the number in a batch counts alone"
    )


_OneSink = (
    KafkaSinkDocument
    | NoopSinkDocument
    | FunctionSinkDocument
    | FilesSinkDocument
    | DeltaSinkDocument
    | JdbcSinkDocument
)
OneSinkDocument = Annotated[_OneSink, Field(discriminator="kind")]


class NamedSinkDocument(Document):
    """One of several sinks."""

    name: str
    sql: str | None = Field(None, description="on the view `result`; absent: all of it")
    sink: OneSinkDocument


class SeveralSinksDocument(Part):
    """The results go to several sinks, one after the other."""

    kind: Literal["several"] = "several"
    sinks: tuple[NamedSinkDocument, ...]

    @property
    def secret_keys(self) -> tuple[SecretKey, ...]:
        """What they need."""
        return tuple(key for each in self.sinks for key in each.sink.secret_keys)


SinkDocument = Annotated[_OneSink | SeveralSinksDocument, Field(discriminator="kind")]
"""Where the results go. `job/query/sinks` has a module for each kind."""

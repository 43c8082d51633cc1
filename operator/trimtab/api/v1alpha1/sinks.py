"""Sinks other than Kafka, as a spec has them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trimtab.api import endpoints
from trimtab.api.common import ApiModel, function_rule, uri_rules
from trimtab.api.v1alpha1.database import Database

Column = Annotated[str, Field(min_length=1, max_length=63)]
Uri = Annotated[
    str,
    Field(
        max_length=1024,
        description="A directory in any Hadoop file system that the image and sparkConf support,"
        " like s3a://bucket/path.",
        json_schema_extra=uri_rules("all pods reach"),
    ),
]
PartitionBy = Annotated[
    list[Column],
    Field(max_length=8, description="Columns whose values become directories."),
]


class FilesSink(ApiModel):
    """Files, in a directory for each batch, which a replay replaces."""

    format: Literal["parquet", "json", "csv"] = Field(description="The format of the files.")
    uri: Uri
    partition_by: PartitionBy = Field(default_factory=list, alias="partitionBy")

    @property
    def words(self) -> str:
        """Where it writes to, in words."""
        return f"files under {self.uri}"

    def document(self) -> endpoints.FilesSinkDocument:
        """The sink in `job.json`."""
        return endpoints.FilesSinkDocument(
            format=self.format, uri=self.uri, partition_by=self.partition_by
        )


class DeltaSink(ApiModel):
    """A Delta table, to which each batch is one transaction."""

    uri: Uri
    partition_by: PartitionBy = Field(default_factory=list, alias="partitionBy")

    @property
    def words(self) -> str:
        """Where it writes to, in words."""
        return f"the Delta table {self.uri}"

    def document(self) -> endpoints.DeltaSinkDocument:
        """The sink in `job.json`."""
        return endpoints.DeltaSinkDocument(uri=self.uri, partition_by=self.partition_by)


class FunctionSink(ApiModel):
    """A function `write(df, batch_id)`, called with each batch."""

    module: str = Field(
        max_length=253,
        description="module:function, from the image or from transform.python.configMap.",
        json_schema_extra=function_rule("warehouse:write"),
    )
    params: dict[str, Annotated[str, Field(max_length=1024)]] | None = Field(
        None, max_length=32, description="A third argument of the function; absent: it gets none."
    )

    @property
    def words(self) -> str:
        """Where it writes to, in words."""
        return f"the function {self.module}"

    def document(self) -> endpoints.FunctionSinkDocument:
        """The sink in `job.json`."""
        return endpoints.FunctionSinkDocument(module=self.module, params=self.params)


class JdbcSink(Database):
    """A table of PostgreSQL, with one row for each key; each batch is one transaction."""

    keys: list[Column] = Field(
        min_length=1,
        max_length=8,
        description="Columns that tell rows apart; the table has a unique index on exactly these.",
    )
    latest: Column | None = Field(
        None,
        description="Of several rows of a key in one batch, that with the highest value in this"
        " column is written; absent: any of them.",
    )

    @property
    def words(self) -> str:
        """Where it writes to, in words."""
        return f"table {self.table} of {self.url.partition('?')[0]}"

    def document(self, name: str | None = None) -> endpoints.JdbcSinkDocument:
        """The sink in `job.json`; one of several has a name."""
        return endpoints.JdbcSinkDocument(
            url=self.url,
            table=self.table,
            keys=self.keys,
            latest=self.latest,
            name=name,
            username=self.username,
            password_secret=self.password_secret,
        )


class NoopSink(ApiModel):
    """Nothing is written: shows how fast the rest of the pipeline is."""

    @property
    def words(self) -> str:
        """Where it writes to, in words."""
        return "nowhere"

    def document(self) -> endpoints.NoopSinkDocument:
        """The sink in `job.json`."""
        return endpoints.NoopSinkDocument()


OtherSink = JdbcSink | DeltaSink | FilesSink | FunctionSink | NoopSink
"""All kinds but Kafka."""

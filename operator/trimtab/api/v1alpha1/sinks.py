"""Sinks other than Kafka, as a spec has them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from trimtab.api import endpoints
from trimtab.api.common import ApiModel, cel, function_rule, uri_rules
from trimtab.api.v1alpha1.kafka_client import PasswordSecret, Text

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


URL = r"^jdbc:postgresql://[A-Za-z0-9._:,\[\]-]+/[A-Za-z0-9_.-]+(\?[^ #]*)?$"
_URL_WORDS = (
    "write jdbc:postgresql://host:5432/database: the upsert is written for PostgreSQL; write to"
    " others with sink.foreachBatch"
)
_NO_LOGIN = "write the user into username, and its password into a Secret that passwordSecret names"


class JdbcSink(ApiModel):
    """A table of PostgreSQL, with one row for each key; each batch is one transaction."""

    url: str = Field(
        max_length=1024,
        description="jdbc:postgresql://host:5432/database, with options of the driver after a ?.",
        json_schema_extra=cel(
            (f"self.matches(r'{URL}')", _URL_WORDS),
            ("!self.matches('[?&](user|password)=')", _NO_LOGIN),
        ),
    )
    table: str = Field(
        max_length=127,
        pattern=r'^[^."\s]+(\.[^."\s]+)?$',
        description="table or schema.table, in its own spelling; it must exist.",
    )
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
    username: Text = Field(description="The user.")
    password_secret: PasswordSecret = Field(
        alias="passwordSecret", description="Where the password is."
    )

    @field_validator("url")
    @classmethod
    def _without_login(cls, url: str) -> str:
        if any(f"{mark}{name}=" in url for mark in "?&" for name in ("user", "password")):
            raise ValueError(_NO_LOGIN)
        return url

    @property
    def words(self) -> str:
        """Where it writes to, in words."""
        return f"table {self.table} of {self.url.partition('?')[0]}"

    def document(self) -> endpoints.JdbcSinkDocument:
        """The sink in `job.json`."""
        return endpoints.JdbcSinkDocument(
            url=self.url,
            table=self.table,
            keys=self.keys,
            latest=self.latest,
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

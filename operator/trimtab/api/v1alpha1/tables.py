"""Tables beside the stream, which a transform joins records with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from trimtab.api.common import ApiModel, cel, exactly_one, require_one
from trimtab.api.v1alpha1.database import Database
from trimtab.api.v1alpha1.kafka_client import SecretKey
from trimtab.api.v1alpha1.sinks import Column, Uri

SOURCE = "source"
"""The view of the stream, which no table may be named as."""

_ONE_KIND = "write exactly one of rows, delta, files and jdbc"
_ROW = "each row has a value for each of the columns"
_TWICE = "transform.tables has one name twice: give each table a name of its own"
_TAKEN = "`source` is the stream itself: name the table otherwise"


class Rows(ApiModel):
    """A small table, written here; all values are text."""

    model_config = {
        "json_schema_extra": cel(
            ("self.values.all(row, size(row) == size(self.columns))", _ROW),
        )
    }
    columns: list[Column] = Field(min_length=1, max_length=16, description="Their names.")
    values: list[
        Annotated[list[Annotated[str, Field(max_length=256)]], Field(min_length=1, max_length=16)]
    ] = Field(min_length=1, max_length=200, description="The rows.")

    @model_validator(mode="after")
    def _even(self) -> Self:
        if any(len(row) != len(self.columns) for row in self.values):
            raise ValueError(_ROW)
        return self


class DeltaTable(ApiModel):
    """A Delta table: each batch sees its newest version."""

    uri: Uri


class FileTable(ApiModel):
    """Files: the query sees those that were there when it started."""

    format: Literal["parquet", "json", "csv"] = Field(description="The format of the files.")
    uri: Uri
    schema_: str | None = Field(
        None,
        alias="schema",
        min_length=1,
        max_length=16384,
        description="The columns and types, in Spark's DDL. Absent: as the files say; those of CSV"
        " are text, named by its first line.",
    )


class JdbcTable(Database):
    """A table of PostgreSQL, read anew for each batch."""


class Table(ApiModel):
    """A table, as a view of its name."""

    model_config = {
        "json_schema_extra": cel(
            exactly_one(("rows", "delta", "files", "jdbc"), _ONE_KIND),
            (f"self.name != '{SOURCE}'", _TAKEN),
        )
    }
    name: str = Field(
        max_length=63, pattern="^[a-z][a-z0-9_]*$", description="The view, for SQL and Python."
    )
    rows: Rows | None = None
    delta: DeltaTable | None = None
    files: FileTable | None = None
    jdbc: JdbcTable | None = None

    @property
    def secret_keys(self) -> tuple[SecretKey, ...]:
        """The password, if it is in a database."""
        return (self.jdbc.password_secret.held,) if self.jdbc else ()

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        require_one((self.rows, self.delta, self.files, self.jdbc), _ONE_KIND)
        if self.name == SOURCE:
            raise ValueError(_TAKEN)
        return self


def _distinct(tables: Sequence[Table]) -> Sequence[Table]:
    if len({table.name for table in tables}) < len(tables):
        raise ValueError(_TWICE)
    return tables


Tables = Annotated[
    list[Table],
    Field(
        max_length=8,
        json_schema_extra=cel(("self.all(t, self.exists_one(o, o.name == t.name))", _TWICE)),
    ),
    AfterValidator(_distinct),
]
"""The tables of a transform."""

"""Sources other than Kafka that grow where they are: a Delta table, and files."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trimtab.api import endpoints
from trimtab.api.common import ApiModel
from trimtab.api.v1alpha1.sinks import Column, Uri


class _Stored(ApiModel):
    uri: Uri
    time_column: Column = Field(
        alias="timeColumn", description="Column with the time of each row; latency counts from it."
    )
    max_files: int | None = Field(
        None,
        alias="maxFilesPerTrigger",
        ge=1,
        le=10**6,
        description="Most files that a batch reads; absent: as many as there are, of a Delta table"
        " 1000.",
    )

    @property
    def words(self) -> str:
        """What the offsets in a checkpoint belong to; no topic can have this name."""
        return f"what is under {self.uri}"


class DeltaSource(_Stored):
    """A Delta table: what is in it at first, then what is appended."""

    starting_version: int | None = Field(
        None,
        alias="startingVersion",
        ge=0,
        description="Version of the table from which a new checkpoint reads what is appended;"
        " absent: first all that is in it.",
    )
    skip_change_commits: bool = Field(
        False,
        alias="skipChangeCommits",
        description="True passes over commits that change or delete rows, which otherwise stop the"
        " query.",
    )

    def document(self) -> endpoints.DeltaSourceDocument:
        """The source in `job.json`."""
        return endpoints.DeltaSourceDocument(
            kind="delta",
            uri=self.uri,
            time_column=self.time_column,
            max_files=self.max_files,
            starting_version=self.starting_version,
            skip_change_commits=self.skip_change_commits or None,
        )


class FilesSource(_Stored):
    """Files of one directory, each read once after it has appeared."""

    format: Literal["parquet", "json", "csv"] = Field(description="The format of the files.")
    schema_: str = Field(
        alias="schema",
        min_length=1,
        max_length=16384,
        description="The columns and types, in Spark's DDL; those of CSV are named by its first"
        " line.",
    )

    def document(self) -> endpoints.FilesSourceDocument:
        """The source in `job.json`."""
        return endpoints.FilesSourceDocument(
            kind="files",
            uri=self.uri,
            time_column=self.time_column,
            max_files=self.max_files,
            format=self.format,
            schema_=self.schema_,
        )

"""The statements with which a batch gets into a table of PostgreSQL, whole and once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.job.query.database import quoted, quoted_table

BATCHES = "trimtab_batches"
"""The table, beside the target, with the last batch of each query."""


@dataclass(frozen=True, slots=True)
class Target:
    """A table, the columns that are written, and what tells its rows apart."""

    table: str
    """`schema.table`, or `table` in the first schema of the search path."""
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    latest: str | None = None
    """Of several rows with one key in a batch, that with the highest value here is kept."""

    @property
    def name(self) -> str:
        """The table, quoted."""
        return quoted_table(self.table)

    def beside(self, name: str) -> str:
        """Another table of the same schema, quoted."""
        *schema, _ = self.table.split(".")
        return ".".join(quoted(part) for part in (*schema, name))

    @property
    def batches(self) -> str:
        """The table of batches, quoted."""
        return self.beside(BATCHES)

    def make_batches(self) -> str:
        """Create the table of batches."""
        return (
            f"CREATE TABLE IF NOT EXISTS {self.batches}"
            " (query text PRIMARY KEY, batch bigint NOT NULL, written timestamptz NOT NULL)"
        )

    def make_stage(self, stage: str) -> str:
        """Create an empty stage with the columns that are written; it needs no log."""
        return (
            f"CREATE UNLOGGED TABLE {stage} AS SELECT {_list(self.columns)} FROM {self.name}"
            " WITH NO DATA"
        )

    def claim(self) -> str:
        """Record that the batch (query, number) is written; changes no row if it already is."""
        return (
            f"INSERT INTO {self.batches} AS known (query, batch, written) VALUES (?, ?, now())"
            " ON CONFLICT (query) DO UPDATE SET batch = EXCLUDED.batch, written = EXCLUDED.written"
            " WHERE known.batch < EXCLUDED.batch"
        )

    def upsert(self, stage: str) -> str:
        """Take over the rows of the stage, one for each key."""
        order = f", {quoted(self.latest)} DESC NULLS LAST" if self.latest else ""
        columns, keys = _list(self.columns), _list(self.keys)
        rows = f"SELECT DISTINCT ON ({keys}) {columns} FROM {stage} ORDER BY {keys}{order}"
        return f"INSERT INTO {self.name} ({columns}) {rows} ON CONFLICT ({keys}) {self._settled}"

    @property
    def _settled(self) -> str:
        others = [column for column in self.columns if column not in self.keys]
        if not others:
            return "DO NOTHING"
        pairs = (f"{quoted(column)} = EXCLUDED.{quoted(column)}" for column in others)
        return f"DO UPDATE SET {', '.join(pairs)}"


def stage_name(query: str, start: str) -> str:
    """The stage of one start of a query; `start` tells its starts apart."""
    return f"{stage_prefix(query)}{start}"


def stage_prefix(query: str) -> str:
    """What the names of all stages of a query begin with."""
    return f"trimtab_stage_{hashlib.sha256(query.encode()).hexdigest()[:12]}_"


def stages() -> str:
    """The names of tables in a schema (the first ?) that begin with a prefix (the second ?)."""
    return (
        "SELECT tablename FROM pg_tables WHERE schemaname = coalesce(?, current_schema())"
        " AND starts_with(tablename, ?)"
    )


def _list(columns: Sequence[str]) -> str:
    return ", ".join(quoted(column) for column in columns)

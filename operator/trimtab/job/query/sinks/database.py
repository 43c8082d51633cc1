"""A connection to a database, through the JVM's driver, and what its errors mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from trimtab.job import gateway
from trimtab.job.gateway import JavaObject
from trimtab.job.termination import JobFailureError, Reason

EXCEPTION = "PSQLException"


class Database:
    """An open connection; a context manager. Values are bound to each `?` in order."""

    def __init__(self, context: SparkContext, url: str, properties: Mapping[str, str]) -> None:
        """Nothing is opened yet."""
        self._context, self._url, self._properties = context, url, properties
        self._connection: JavaObject = None

    def __enter__(self) -> Self:
        """Connect; raises Py4JJavaError."""
        self._connection = gateway.connect(self._context, self._url, self._properties)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close; a transaction that was not committed is undone."""
        self._connection.close()

    def begin(self) -> None:
        """All that follows is one transaction."""
        self._connection.setAutoCommit(False)

    def commit(self) -> None:
        """End the transaction."""
        self._connection.commit()

    def run(self, statement: str, *values: str | int | None) -> int:
        """Run a statement; returns the number of rows that it changed."""
        prepared = self._prepared(statement, *values)
        prepared.execute()
        changed = int(prepared.getUpdateCount())
        prepared.close()
        return changed

    def strings(self, query: str, *values: str | int | None) -> list[str]:
        """The first column of a query."""
        rows, found = self._prepared(query, *values).executeQuery(), []
        while rows.next():
            found.append(str(rows.getString(1)))
        return found

    def _prepared(self, statement: str, *values: str | int | None) -> JavaObject:
        prepared = self._connection.prepareStatement(statement)
        for place, value in enumerate(values, 1):
            if isinstance(value, int):
                prepared.setLong(place, value)
            else:
                prepared.setString(place, value)
        return prepared


_AWAY = re.compile(
    r"Connection to \S+ refused|connection attempt failed|I/O error occurred|UnknownHost"
    r"|connection has been closed|terminating connection|the database system is|too many clients"
    r"|remaining connection slots|deadlock detected|canceling statement|No space left"
)
_DENIED = re.compile(r"authentication failed|permission denied|no pg_hba.conf entry|must be owner")
_MISSING = re.compile(
    r'ERROR: (relation|schema) "[^"]*" does not exist|database "[^"]*" does not exist'
)
_NO_KEY = re.compile(r"no unique or exclusion constraint")


@contextmanager
def understood(table: str) -> Iterator[None]:
    """Raise JobFailureError with the server's own words for what it refuses."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        if failure := meaning(str(getattr(error, "java_exception", None) or error), table):
            raise failure from error
        raise


def meaning(text: str, table: str) -> JobFailureError | None:
    """What the text of an exception says of the database; None if it does not come from there."""
    said = [line for line in text.splitlines() if EXCEPTION in line]
    if not said:
        return None
    words = said[-1].partition(f"{EXCEPTION}: ")[2].strip() or said[-1]
    if _AWAY.search(text):
        return JobFailureError(
            Reason.SINK_UNREACHABLE, f"the database does not answer: {words}", heals=True
        )
    if _DENIED.search(text):
        return JobFailureError(
            Reason.SINK_DENIED, f"the database refuses access: {words}", heals=True
        )
    if _NO_KEY.search(text):
        return JobFailureError(
            Reason.SINK_FAILED,
            f"{table} has no unique index on exactly the columns of sink.jdbc.keys: create one, or"
            " correct the keys",
        )
    if _MISSING.search(text):
        return JobFailureError(
            Reason.SINK_NOT_FOUND, f"{words}: create the table {table}, or correct sink.jdbc"
        )
    return JobFailureError(Reason.SINK_FAILED, f"the database does not take the rows: {words}")

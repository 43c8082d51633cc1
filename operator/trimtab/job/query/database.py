"""A connection to a database, through the JVM's driver, and what its errors mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from types import TracebackType
from typing import Self

from pyspark import SparkContext

from trimtab.api.v1alpha1.kafka_client import SecretKey
from trimtab.job import gateway
from trimtab.job.gateway import JavaObject
from trimtab.job.query.topics import answered
from trimtab.kafka.secrets import value_of

EXCEPTION = "PSQLException"
PROPERTIES = {
    "driver": "org.postgresql.Driver",
    "reWriteBatchedInserts": "true",  # one statement for many rows
    "stringtype": "unspecified",  # a string also fits columns of json, uuid, inet and the like
    "ApplicationName": "trimtab",
    "connectTimeout": "10",
    "socketTimeout": "300",  # seconds; a server that is gone must not hold a batch for ever
    "tcpKeepAlive": "true",
}


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


def quoted(name: str) -> str:
    """An identifier, taken literally."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def quoted_table(name: str) -> str:
    """`schema.table`, or `table`, taken literally."""
    return ".".join(quoted(part) for part in name.split("."))


class Refusal(StrEnum):
    """What kind of answer an exception of the database is."""

    AWAY = "Away"
    DENIED = "Denied"
    NO_KEY = "NoKey"
    MISSING = "Missing"
    OTHER = "Other"


_PATTERNS = {
    Refusal.AWAY: re.compile(
        r"Connection to \S+ refused|connection attempt failed|I/O error occurred|UnknownHost"
        r"|connection has been closed|terminating connection|the database system is"
        r"|too many clients|remaining connection slots|deadlock detected|canceling statement"
        r"|No space left"
    ),
    Refusal.DENIED: re.compile(
        r"authentication failed|permission denied|no pg_hba.conf entry|must be owner"
    ),
    Refusal.NO_KEY: re.compile(r"no unique or exclusion constraint"),
    Refusal.MISSING: re.compile(
        r'ERROR: (relation|schema) "[^"]*" does not exist|database "[^"]*" does not exist'
    ),
}
"""The first that is found counts."""


def login(username: str, password: SecretKey) -> Mapping[str, str]:
    """The properties of a connection; raises a healing JobFailureError without the password."""
    with answered():
        return {**PROPERTIES, "user": username, "password": value_of(password)}


def refusal(text: str) -> tuple[Refusal, str] | None:
    """What the text of an exception says of the database, in the server's own words.

    None if it does not come from there.
    """
    said = [line for line in text.splitlines() if EXCEPTION in line]
    if not said:
        return None
    words = said[-1].partition(f"{EXCEPTION}: ")[2].strip() or said[-1]
    for kind, pattern in _PATTERNS.items():
        if pattern.search(text):
            return kind, words
    return Refusal.OTHER, words

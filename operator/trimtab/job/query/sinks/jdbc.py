"""A table of a database as the sink: a row for each key, each batch in one transaction.

The executors write a batch into a stage, a table of its own. Then the driver takes it over: one
transaction records the number of the batch and moves the rows. If the number is there already, it
moves nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from trimtab.api import endpoints
from trimtab.job import gateway
from trimtab.job.query.database import Database, Refusal, login, refusal
from trimtab.job.query.sinks.plain import StoringSink, require_columns
from trimtab.job.query.sinks.postgres import (
    Target,
    stage_name,
    stage_prefix,
    stages,
)
from trimtab.job.termination import JobFailureError, Reason


class JdbcSink(StoringSink):
    """Upserts each batch into one table."""

    on_replay = "the database knows the batch, so nothing is written again"

    def __init__(self, document: endpoints.JdbcSinkDocument) -> None:
        """Connects on first use."""
        self._document = document
        self._start = secrets.token_hex(4)
        self._stage: str | None = None
        self._target = Target(document.table, (), tuple(document.keys), document.latest)

    def require(self) -> None:
        """Raise JobFailureError if the table or its unique key is missing, or it may not write."""
        context = SparkContext.getOrCreate()
        with understood(self._document.table), self._connected(context) as database:
            keys = Target(self._document.table, self._target.keys, self._target.keys)
            database.run(f"EXPLAIN {keys.upsert(self._target.name)}")
            database.run(self._target.make_batches())

    def prepare(self, frame: DataFrame) -> DataFrame:
        """Accept columns of the table that include its keys; raises TransformError otherwise."""
        needed = [*self._document.keys, *filter(None, [self._document.latest])]
        require_columns(frame, needed, "sink.jdbc")
        target = Target(
            self._document.table, tuple(frame.columns), self._target.keys, self._document.latest
        )
        if target != self._target:
            self._target, self._stage = target, None
        return frame

    def write(self, frame: DataFrame, batch_id: int) -> None:
        """Stage the rows, then take them over."""
        context = frame.sparkSession.sparkContext
        query = "/".join(filter(None, (gateway.query_id(context), self._document.name)))
        with understood(self._document.table):
            with self._connected(context) as database:
                stage = self._empty_stage(database, query)
            writer = self.spread(frame).write.format("jdbc").options(**self._login())
            writer.option("url", self._document.url).option("dbtable", stage).mode("append").save()
            with self._connected(context) as database:
                database.begin()
                if database.run(self._target.claim(), query, batch_id):
                    database.run(self._target.upsert(stage))
                database.commit()

    def _empty_stage(self, database: Database, query: str) -> str:
        """The stage of this start, empty; the first batch drops those of earlier starts."""
        if self._stage is not None:
            database.run(f"TRUNCATE {self._stage}")
            return self._stage
        *schema, _ = self._document.table.split(".")
        for old in database.strings(stages(), schema[0] if schema else None, stage_prefix(query)):
            # waits for tasks of an earlier start that still write to it
            database.run(f"DROP TABLE IF EXISTS {self._target.beside(old)}")
        stage = self._target.beside(stage_name(query, self._start))
        database.run(self._target.make_stage(stage))
        self._stage = stage
        return stage

    def _connected(self, context: SparkContext) -> Database:
        return Database(context, self._document.url, self._login())

    def _login(self) -> Mapping[str, str]:
        return login(self._document.username, self._document.password_secret.held)


@contextmanager
def understood(table: str) -> Iterator[None]:
    """Raise JobFailureError with the server's own words for what it refuses."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        if failure := meaning(gateway.said(error), table):
            raise failure from error
        raise


def meaning(text: str, table: str) -> JobFailureError | None:
    """What the text of an exception says of the database; None if it does not come from there."""
    found = refusal(text)
    if found is None:
        return None
    kind, words = found
    match kind:
        case Refusal.AWAY:
            words = f"the database does not answer: {words}"
            return JobFailureError(Reason.SINK_UNREACHABLE, words, heals=True)
        case Refusal.DENIED:
            words = f"the database refuses access: {words}"
            return JobFailureError(Reason.SINK_DENIED, words, heals=True)
        case Refusal.NO_KEY:
            words = (
                f"{table} has no unique index on exactly the columns of sink.jdbc.keys: create one,"
                " or correct the keys"
            )
            return JobFailureError(Reason.SINK_FAILED, words)
        case Refusal.MISSING:
            words = f"{words}: create the table {table}, or correct sink.jdbc"
            return JobFailureError(Reason.SINK_NOT_FOUND, words)
        case Refusal.OTHER:
            words = f"the database does not take the rows: {words}"
            return JobFailureError(Reason.SINK_FAILED, words)

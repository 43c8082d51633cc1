"""A table of a database as the sink: a row for each key, each batch in one transaction.

The executors write a batch into a stage, a table of its own. Then the driver takes it over: one
transaction records the number of the batch and moves the rows. If the number is there already, it
moves nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from pyspark import SparkContext
from pyspark.sql import DataFrame

from trimtab.api import endpoints
from trimtab.job import gateway
from trimtab.job.query.sinks.database import Database, understood
from trimtab.job.query.sinks.plain import PlainSink, require_columns
from trimtab.job.query.sinks.postgres import (
    Target,
    stage_name,
    stage_prefix,
    stages,
)
from trimtab.job.query.topics import answered
from trimtab.kafka.secrets import value_of

DRIVER = "org.postgresql.Driver"
PROPERTIES = {
    "driver": DRIVER,
    "reWriteBatchedInserts": "true",  # one statement for many rows
    "stringtype": "unspecified",  # a string also fits columns of json, uuid, inet and the like
    "ApplicationName": "trimtab",
    "connectTimeout": "10",
    "socketTimeout": "300",  # seconds; a server that is gone must not hold a batch for ever
    "tcpKeepAlive": "true",
}


class JdbcSink(PlainSink):
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
        query = gateway.query_id(context)
        with understood(self._document.table):
            with self._connected(context) as database:
                stage = self._empty_stage(database, query)
            writer = frame.write.format("jdbc").options(**PROPERTIES, **self._login())
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
        return Database(context, self._document.url, {**PROPERTIES, **self._login()})

    def _login(self) -> Mapping[str, str]:
        """User and password; raises a healing JobFailureError if the password is not there."""
        document = self._document
        with answered():
            password = value_of(document.password_secret.held)
        return {"user": document.username, "password": password}

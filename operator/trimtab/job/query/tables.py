"""The tables beside the stream, as views for the transform."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from trimtab.api.v1alpha1.tables import FileTable, JdbcTable, Rows, Table
from trimtab.errors import TransformError, TrimtabError
from trimtab.job import gateway
from trimtab.job.query import delta
from trimtab.job.query.database import Refusal, login, quoted_table, refusal
from trimtab.job.termination import Cause, JobFailureError, Reason

SAYS_ITS_COLUMNS = {"csv": {"header": "true"}}
"""Options by format."""


def session_conf(tables: Iterable[Table]) -> Mapping[str, str]:
    """What Spark needs to read them."""
    return delta.SESSION_CONF if any(table.delta for table in tables) else {}


def register(session: SparkSession, tables: Iterable[Table]) -> None:
    """Make a view of each table; raises TransformError that names one that cannot be read."""
    for table in tables:
        try:
            _frame(session, table).createOrReplaceTempView(table.name)
        except (PySparkException, Py4JJavaError) as error:
            raise _unreadable(table, gateway.said(error)) from error


def _frame(session: SparkSession, table: Table) -> DataFrame:
    if table.rows is not None:
        return _written(session, table.rows)
    if table.delta is not None:
        return session.read.format("delta").load(table.delta.uri)
    if table.jdbc is not None:
        return _asked(session, table.jdbc)
    assert table.files is not None
    return _read(session, table.files)


def _written(session: SparkSession, rows: Rows) -> DataFrame:
    schema = StructType([StructField(name, StringType()) for name in rows.columns])
    return session.createDataFrame([tuple(row) for row in rows.values], schema)


def _read(session: SparkSession, files: FileTable) -> DataFrame:
    reader = session.read.format(files.format).options(**SAYS_ITS_COLUMNS.get(files.format, {}))
    return (reader.schema(files.schema_) if files.schema_ else reader).load(files.uri)


def _asked(session: SparkSession, table: JdbcTable) -> DataFrame:
    reader = session.read.format("jdbc").options(
        **login(table.username, table.password_secret.held)
    )
    return reader.option("url", table.url).option("dbtable", quoted_table(table.table)).load()


def meaning(causes: Sequence[Cause]) -> JobFailureError | None:
    """What a failed batch says of the database of a table; None if nothing."""
    return _refused("\n".join(f"{cause.kind}: {cause.message}" for cause in causes))


def _refused(text: str) -> JobFailureError | None:
    found = refusal(text)
    kind, words = found or (None, "")
    if kind is Refusal.AWAY:
        words = f"the database of transform.tables does not answer: {words}"
        return JobFailureError(Reason.TABLE_UNREACHABLE, words, heals=True)
    if kind is Refusal.DENIED:
        words = f"the database of transform.tables refuses access: {words}"
        return JobFailureError(Reason.TABLE_DENIED, words, heals=True)
    return None


def _unreadable(table: Table, why: str) -> TrimtabError:
    if failure := _refused(why):
        return failure
    words = why.partition("\n")[0][:500]
    return TransformError(f"the table {table.name} of transform.tables cannot be read: {words}")

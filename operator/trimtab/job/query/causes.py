"""Exceptions of Spark as chains of causes, and what they mean for the pipeline."""

from __future__ import annotations

import re
from collections.abc import Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from trimtab.job import gateway
from trimtab.job.gateway import JavaObject
from trimtab.job.query import tables
from trimtab.job.query.protocols import Source
from trimtab.job.termination import Cause, JobFailureError, classify

RAISED = (PySparkException, Py4JJavaError)
"""What Python gets when Spark fails."""

MAX_CAUSES = 20

_CUT_SHORT = re.compile(r"SPARK_JOB_CANCELLED|Interrupted\w*Exception|ClosedByInterrupt")


def of_query(query: StreamingQuery, written: BaseException | None) -> list[Cause]:
    """The exception chain that ended a query, outermost first; empty if there is none.

    Spark gets an exception of a write only as the text of a Python traceback, so the writer's own
    exception takes precedence.
    """
    if written is not None:
        return of_error(written)
    failure = gateway.scala_query(query).exception()
    return _java_chain(failure.get() if failure.isDefined() else None)


def of_error(error: BaseException) -> list[Cause]:
    """The chain of a Python exception and of the one of the JVM that it stands for."""
    origin = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    return [Cause(type(error).__name__, str(error)), *_java_chain(origin)]


def meaning(causes: Sequence[Cause], source: Source) -> JobFailureError:
    """What a chain means, in the words of whoever knows most about it."""
    return source.meaning(causes) or tables.meaning(causes) or classify(causes)


def cut_short(causes: Sequence[Cause]) -> bool:
    """Whether Spark was told to stop computing, so that nothing has failed by itself."""
    return any(_CUT_SHORT.search(f"{cause.kind} {cause.message}") for cause in causes)


def _java_chain(throwable: JavaObject) -> list[Cause]:
    causes: list[Cause] = []
    while throwable is not None and len(causes) < MAX_CAUSES:
        kind, message = throwable.getClass().getName(), throwable.getMessage()
        causes.append(Cause(str(kind), str(message or "")))
        throwable = throwable.getCause()
    return causes

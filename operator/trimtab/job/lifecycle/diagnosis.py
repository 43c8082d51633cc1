"""Why a query has ended, in the words of whoever knows most about it."""

from __future__ import annotations

from pyspark.sql.streaming.query import StreamingQuery

from trimtab.job.query import tables
from trimtab.job.query.builder import causes_of
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.protocols import Source
from trimtab.job.termination import JobFailureError, Reason, classify

OF_RECORDS = {
    Reason.TRANSFORM_FAILED,
    Reason.SINK_FAILED,
    Reason.RECORD_TOO_LARGE,
    Reason.QUERY_FAILED,
}
"""Failures that a record may have caused, and do not name it."""


def diagnose(
    query: StreamingQuery, written: BaseException | None, source: Source, checkpoint: Checkpoint
) -> JobFailureError:
    """The failure; `written` is the exception of the last write, if it failed."""
    if isinstance(written, JobFailureError):
        failure = written
    else:
        causes = causes_of(query, written)
        failure = source.meaning(causes) or tables.meaning(causes) or classify(causes)
    if failure.reason not in OF_RECORDS or failure.heals:
        return failure
    try:
        place = checkpoint.under_way()
    except JobFailureError:  # the file system is away: what failed matters more than where
        place = None
    return failure if place is None else JobFailureError(failure.reason, f"{place}: {failure}")

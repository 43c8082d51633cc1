"""Why a query has ended, in the words of whoever knows most about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql.streaming.query import StreamingQuery

from trimtab.job.query import causes
from trimtab.job.query.again import of_a_record
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.culprits import Culprit, Span
from trimtab.job.query.protocols import Source
from trimtab.job.termination import JobFailureError, Reason

NAMED = 8
"""Partitions that a message names."""

ELSEWHERE = (
    "Correct the transform, or write deadLetters: {topic: ...} to have such records written there"
)

OF_RECORDS = {
    Reason.TRANSFORM_FAILED,
    Reason.SINK_FAILED,
    Reason.RECORD_TOO_LARGE,
    Reason.QUERY_FAILED,
}
"""Failures that a record may have caused, and do not name it."""


Blame = Callable[[int], Culprit | None]
"""The record at which a batch dies; None if it is not known."""


def diagnose(
    query: StreamingQuery,
    written: BaseException | None,
    source: Source,
    checkpoint: Checkpoint,
    blame: Blame,
) -> JobFailureError:
    """The failure; `written` is the exception of the last write, if it failed."""
    if isinstance(written, JobFailureError):
        failure = written
    else:
        failure = causes.meaning(causes.of_query(query, written), source)
    if failure.reason not in OF_RECORDS or failure.heals:
        return failure
    try:
        batch = checkpoint.replay_batch()
        spans = [] if batch is None else checkpoint.spans(batch)
    except JobFailureError:  # the file system is away: what failed matters more than where
        return failure
    if batch is None or not spans:
        return failure
    if of_a_record(failure) and (culprit := blame(batch)) is not None:
        words = f"{culprit.place}, in batch {batch}: {culprit.error.rstrip('. ')}. {ELSEWHERE}"
        return JobFailureError(failure.reason, words)
    return JobFailureError(failure.reason, f"batch {batch}, which reads {read(spans)}: {failure}")


def read(spans: Sequence[Span]) -> str:
    """What a batch reads, in words."""
    words = [f"{e.topic}/{e.partition} from {e.first} to {e.end - 1}" for e in spans[:NAMED]]
    more = f" and {len(spans) - NAMED} more partitions" if len(spans) > NAMED else ""
    return f"{', '.join(words)}{more}"

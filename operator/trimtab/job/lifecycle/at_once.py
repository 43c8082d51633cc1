"""A query in real-time mode: nothing passes a gate, and a batch begins when the one before ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pyspark.sql.streaming.query import StreamingQuery

from trimtab.job.lifecycle.boundary import RealTimeGate
from trimtab.job.query import real_time
from trimtab.job.termination import JobFailureError


class AtOnce:
    """Follows one start of the query by its commits."""

    def __init__(
        self, query: StreamingQuery, begin: Callable[[int], object], ended: Callable[[], None]
    ) -> None:
        """`ended` and `begin` are called between two batches; `begin` gets the next one's number.

        `begin` raises JobFailureError if the query must not go on.
        """
        self._begin, self._ended = begin, ended
        self.gate = RealTimeGate(
            partial(real_time.end_after_batch, query),
            partial(real_time.runs, query),
            partial(real_time.ended_well, query),
        )
        self.failure: JobFailureError | None = None
        """Why the query was asked to end."""

    def first(self, last_committed: int | None) -> None:
        """The query has started after this batch."""
        self._try(0 if last_committed is None else last_committed + 1)

    def following(self, batch_id: int) -> None:
        """The batch before this one was committed."""
        self._ended()
        self._try(batch_id)

    def _try(self, batch_id: int) -> None:
        try:
            self._begin(batch_id)
        except JobFailureError as failure:
            self.failure = failure
            self.gate.close()

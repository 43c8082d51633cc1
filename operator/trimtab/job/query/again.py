"""A batch computed again from Kafka, to find the records at which it dies, and without them.

Spark tells that a task has failed, not at which record. The offsets of the batch are in the
checkpoint, so any part of it can be read and transformed by itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from trimtab.api.contract import TransformDocument
from trimtab.errors import TransformError
from trimtab.job.batches.progress import ASIDE, SOURCE
from trimtab.job.clock import Clock, monotonic_s
from trimtab.job.pending import pending_map
from trimtab.job.query import causes, transform
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.culprits import Culprit, Span, search
from trimtab.job.query.formats.aside import COLUMNS, COUNT, POSITION, Aside
from trimtab.job.query.protocols import VIEW
from trimtab.job.query.sources.kafka import KafkaSource, observations
from trimtab.job.termination import JobFailureError, Reason

log = logging.getLogger(__name__)

OF_A_RECORD = {Reason.TRANSFORM_FAILED, Reason.QUERY_FAILED}
"""Failures whose culprit is worth a search."""

PLACES = "topic STRING, partition INT, offset BIGINT, error STRING"


class Rest(NamedTuple):
    """A batch without the records at which it died."""

    frame: DataFrame
    """What the transform makes of the others."""
    aside: Aside
    """Those records, and those that cannot be decoded."""
    observed: Mapping[str, Mapping[str, Any]]
    """What the query would have observed of the source."""


class OutOfTimeError(Exception):
    """The search takes too long."""


class Again:
    """Computes batches of one query, which reads one Kafka, once more."""

    def __init__(
        self,
        source: KafkaSource,
        document: TransformDocument,
        checkpoint: Checkpoint,
        *,
        clock: Clock = monotonic_s,
    ) -> None:
        """`clock` is monotonic."""
        self.source = source
        self._transform = document
        self._checkpoint = checkpoint
        self._clock = clock

    def culprits(
        self,
        session: SparkSession,
        batch_id: int,
        prepare: Callable[[DataFrame], DataFrame],
        *,
        most: int,
        within_s: float,
    ) -> list[Culprit]:
        """The first `most` records of a batch that its transform raises an error for, if any.

        `prepare` selects what is computed of the result.

        Raises:
            JobFailureError: something else fails.
            OutOfTimeError: they are not found in time.
        """
        deadline_s = self._clock() + within_s
        spans = self._checkpoint.spans(batch_id)

        def fails(part: Sequence[Span]) -> str | None:
            if self._clock() > deadline_s:
                raise OutOfTimeError
            return self._error(session, part, prepare)

        try:
            return search(spans, fails, most)
        except TransformError as error:
            log.info("only a stream goes through the transform: %s", error)
            return []

    def _error(
        self,
        session: SparkSession,
        spans: Sequence[Span],
        prepare: Callable[[DataFrame], DataFrame],
    ) -> str | None:
        """What the transform raises for some of the records, in words."""
        read, _ = self.source.told_apart(self.source.again(session, spans))
        try:
            prepare(self._transformed(read)).write.format("noop").mode("overwrite").save()
        except causes.RAISED as error:
            chain = causes.of_error(error)
            failure = causes.meaning(chain, self.source)
            if not of_a_record(failure) or causes.cut_short(chain):
                raise failure from error
            return str(failure)
        return None

    def without(
        self, session: SparkSession, batch_id: int, culprits: Sequence[Culprit], most: int
    ) -> Rest:
        """The batch without these records; of those that cannot be decoded, `most` are kept."""
        rows = self.source.again(session, self._checkpoint.spans(batch_id))
        bad = F.broadcast(session.createDataFrame(culprits, PLACES))
        aside = rows.join(bad, POSITION).select(*COLUMNS)
        others = rows.join(bad.select(*POSITION), POSITION, "left_anti")
        read, undecodable = self.source.told_apart(others)
        total = len(culprits)
        if undecodable is not None:
            total += undecodable.count()
            aside = aside.unionByName(undecodable.limit(most))
        seen = read.agg(*observations()).first()
        assert seen is not None  # an aggregation has one row
        return Rest(
            self._transformed(read),
            Aside(total, aside),
            {SOURCE: seen.asDict(), ASIDE: {COUNT: total}},
        )

    def _transformed(self, frame: DataFrame) -> DataFrame:
        with pending_map.declaring():
            return transform.apply({VIEW: frame}, self._transform)


def of_a_record(failure: JobFailureError) -> bool:
    """Whether a record may have caused a failure, so that it fails again and again."""
    return failure.reason in OF_A_RECORD and not failure.heals

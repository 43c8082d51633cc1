"""Builds and starts the streaming query, and reads its progress from Spark."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import cast

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from trimtab.api.contract import Job, SourceOptions
from trimtab.api.knobs import TRIGGER
from trimtab.errors import TransformError
from trimtab.job import gateway
from trimtab.job.batches.timing import Split
from trimtab.job.lifecycle.boundary import Gate
from trimtab.job.pending import pending_map
from trimtab.job.query import generations, plan, real_time, stateful, transform, writer
from trimtab.job.query.again import Again, OutOfTimeError
from trimtab.job.query.causes import RAISED
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.culprits import Culprit
from trimtab.job.query.offset_log import Offsets
from trimtab.job.query.protocols import VIEW, Sink, Source
from trimtab.job.query.sinks.kafka import KafkaSink
from trimtab.job.query.sources.kafka import NAME, KafkaSource
from trimtab.job.termination import JobFailureError
from trimtab.kafka.admin import KafkaIdentity

log = logging.getLogger(__name__)

SEARCH_S = 30.0
"""How long the record is looked for at which a batch dies; the driver ends meanwhile."""


class StreamBuilder:
    """Builds the query of one job, again for each start."""

    def __init__(
        self,
        session: SparkSession,
        job: Job,
        checkpoint: Checkpoint,
        source: Source,
        sink: Sink,
    ) -> None:
        """Nothing is read or started yet."""
        self._inherited: Offsets | None = None
        self._session = session
        self._job = job
        self._checkpoint = checkpoint
        self._source, self._sink = source, sink
        self.live = writer.Live(sink)
        """What may change from one batch to the next."""
        self.stages = pending_map.Stages()
        """The stages of calls in the query of the last start."""
        self.one_to_one = False
        self.uses_python = False
        self.stateful = False
        self.real_time = False
        """Whether the last start runs in Spark's real-time mode."""
        self.writer: writer.BatchWriter | None = None

    @property
    def can_be_timed(self) -> bool:
        """Whether batches of the query can be timed.

        Not if nothing is written. Not with state either: computing a partition commits its state,
        so a partition must not be computed again if its cached copy is lost.
        """
        return bool(self._sink.phases) and not self.stateful and not self.real_time

    def inherit(self, now: KafkaIdentity) -> None:
        """Let a new checkpoint begin where the last generation ended, unless the job forbids it."""
        if self._job.resume is None and not self._checkpoint.begun:
            uri, context = self._job.checkpoint_uri, self._session.sparkContext
            self._inherited = generations.inherited(uri, self._source.topics, now, context)

    def start(
        self,
        knobs: Mapping[str, float],
        how: SourceOptions,
        gate: Gate,
        begin: Callable[[int], bool],
        written: Callable[[Split | None], None],
    ) -> StreamingQuery:
        """The running query.

        `begin` gets the id of each batch before it is written and returns whether to time it;
        `written` is called after the write.

        Raises:
            TransformError: the query cannot be built from the job.
            JobFailureError: its state does not fit the checkpoint.
        """
        job = self._job
        prepared = self._prepared(knobs, how)
        self.one_to_one = plan.is_one_to_one(prepared)
        self.uses_python = plan.uses_python(prepared)
        self.stateful = stateful.settle(
            self._session, job, self._checkpoint, prepared, self._source.partition_count
        )
        if self.stateful and job.dead_letters:
            raise TransformError(
                "deadLetters needs a query without state, whose rows can be told apart again:"
                " remove it, or move the aggregation into a pipeline of its own"
            )
        self.writer = writer.BatchWriter(gate, self.live, begin, written)
        to = prepared.writeStream.queryName(job.pipeline)
        to = to.option("checkpointLocation", job.checkpoint_uri)
        try:
            if self.real_time:
                return self._at_once(to, knobs).start()
            trigger = f"{round(knobs[TRIGGER.name] * 1000)} milliseconds"
            to = to.outputMode(job.output_mode).trigger(processingTime=trigger)
            return to.foreachBatch(self.writer).start()
        except PySparkException as error:
            raise TransformError(
                f"the query does not start: {transform.message_of(error)}"
            ) from error

    def blamed(self, batch_id: int) -> Culprit | None:
        """The record at which a batch dies; None if that is not known soon, or of no record.

        With dead letters the sink has looked for it already.
        """
        if not isinstance(self._source, KafkaSource) or self._job.dead_letters:
            return None
        again = Again(self._source, self._job.transform, self._checkpoint)
        try:
            found = again.culprits(
                self._session, batch_id, self._sink.prepare, most=1, within_s=SEARCH_S
            )
        except (OutOfTimeError, JobFailureError, *RAISED) as error:
            log.info("the record at which batch %d dies is not found: %s", batch_id, error)
            return None
        return next(iter(found), None)

    def _at_once(self, to: DataStreamWriter, knobs: Mapping[str, float]) -> DataStreamWriter:
        """The query in real-time mode, whose interval is the trigger."""
        assert isinstance(self._sink, KafkaSink), "the spec would have been refused"
        interval_s = max(knobs[TRIGGER.name], real_time.SHORTEST_S)
        to = to.format("kafka").options(**self._sink.options).outputMode("update")
        interval = f"{round(interval_s * 1000)} milliseconds"
        return cast("DataStreamWriter", to.trigger(realTime=interval))  # type: ignore[call-overload]

    def _prepared(self, knobs: Mapping[str, float], how: SourceOptions) -> DataFrame:
        """The result as the sink gets it; sets in which mode it can run."""
        frame = self._built(knobs, how, at_once=self._job.execution is not None)
        self.real_time = self._job.execution is not None
        if self.real_time and (found := real_time.faults(frame)):
            if self._job.execution == "realTime":
                raise TransformError(real_time.refusal(found))
            log.info("in micro-batches, as real-time mode cannot run it: %s", "; ".join(found))
            self.real_time = False
            frame = self._built(knobs, how, at_once=False)
        return writer.prepare(frame, self._sink)

    def _built(self, knobs: Mapping[str, float], how: SourceOptions, *, at_once: bool) -> DataFrame:
        first = None if self._checkpoint.begun else self._inherited
        views = self._source.read(self._session, how, knobs, first, at_once=at_once)
        with pending_map.declaring() as self.stages:
            frame = transform.apply(views, self._job.transform)
        if not frame.isStreaming:
            named = " and ".join(f"`{view}`" for view in views)
            raise TransformError(f"the transform does not read the stream: select from {named}")
        self._require_fit(frame)
        self._require_order(frame, views)
        return frame

    def _require_order(self, frame: DataFrame, views: Collection[str]) -> None:
        """Raise if not all sources are read, or not in the order of the offsets' log."""
        if VIEW in views:
            return
        read = [name for leaf in plan.streams(frame) if (name := leaf(NAME))]
        if missing := sorted(set(views) - set(read)):
            raise TransformError(
                f"{', '.join(missing)} of the sources is not read by the transform: read it, or"
                " remove it"
            )
        self._checkpoint.require_sources(read)

    def _require_fit(self, frame: DataFrame) -> None:
        """Raise TransformError for what would be lost, or stop the query at its next start."""
        if others := plan.other_streams(frame, self._source.reads):
            raise TransformError(
                f"the transform reads another stream ({', '.join(others)}), from which the query"
                " could not go on after a restart: list its topics in source.kafka.topics, and"
                " tell the records apart by the column topic"
            )
        if unused := plan.computed(frame, self._sink.ignores):
            raise TransformError(
                f"the transform sets {', '.join(unused)}, which the sink would ignore: records go"
                " to its own topic, and Kafka chooses partition and time. Name the column"
                " otherwise, or drop it"
            )


def last_committed(query: StreamingQuery) -> int | None:
    """The last batch of this start that Spark reported as committed; None before any report.

    Spark reports a trigger without data under the number of the next batch, so this may be -1.
    """
    progress = gateway.scala_query(query).lastProgress()
    if progress is None:
        return None
    ran = progress.durationMs().containsKey("addBatch")
    return int(progress.batchId()) - (not ran)

"""What cannot be used goes to a topic of its own, and the rest to the sink.

Such are records that could not be decoded, which the transform has never seen, records for which
the transform raises an error, and rows that it marks: its column `error` says why. Key, value and
headers are written as they are, with the error and where the record came from as further headers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from trimtab.api import endpoints
from trimtab.api.v1alpha1.formats import ERROR
from trimtab.errors import TransformError
from trimtab.job.batches import ledger
from trimtab.job.batches.progress import SINK, Recounted
from trimtab.job.query import causes
from trimtab.job.query.again import Again, OutOfTimeError, Rest, of_a_record
from trimtab.job.query.causes import RAISED
from trimtab.job.query.formats import aside
from trimtab.job.query.formats.aside import Aside
from trimtab.job.query.protocols import Sink
from trimtab.job.query.sinks.allowance import Allowance
from trimtab.job.query.sinks.kafka import KafkaSink
from trimtab.job.query.sinks.keeping import kept
from trimtab.job.query.sinks.size import MOST_SENT, sent_bytes
from trimtab.job.termination import JobFailureError, Reason

log = logging.getLogger(__name__)

SEARCH_S = 300.0
"""How long the records at which a batch dies are looked for."""

NAMED = 8
"""Records that a message names."""

ORIGIN = ("topic", "partition", "offset")
"""Columns that become headers if the transform keeps them."""

PREFIX = "trimtab."
"""What the names of the headers begin with."""


NONE = Aside(0, None)


class DeadLetterSink:
    """A sink beside which dead letters are written."""

    ignores: Collection[str] = ()

    def __init__(
        self,
        inner: Sink,
        document: endpoints.DeadLettersDocument,
        source: endpoints.KafkaSourceDocument,
        *,
        counted: Callable[[int], None],
        again: Again,
        recounted: Recounted,
    ) -> None:
        """The topic is in the source's Kafka. `counted` gets how many each batch had.

        `again` computes a batch once more. What is then observed of it goes to `recounted`.
        """
        topic = endpoints.KafkaSinkDocument(
            bootstrap_servers=source.bootstrap_servers,
            tls=source.tls,
            authentication=source.authentication,
            topic=document.topic,
        )
        self._inner, self._letters = inner, KafkaSink(topic)
        self._topic = document.topic
        self._allowance = Allowance(document.max_per_batch, document.max_per_minute)
        self._counted = counted
        self._again, self._recounted = again, recounted
        self._most = document.max_per_batch
        self._decodes = source.format is not None
        self._most_sent = inner.most_sent if isinstance(inner, KafkaSink) else None
        self._never_handed_on = 0

    @property
    def knobs(self) -> Collection[str]:
        """Those of the sink."""
        return self._inner.knobs

    @property
    def phases(self) -> Collection[str]:
        """Those of the sink."""
        return self._inner.phases

    @property
    def session_conf(self) -> Mapping[str, str]:
        """What the sink needs."""
        return self._inner.session_conf

    @property
    def spent_s(self) -> Mapping[str, float]:
        """As the sink says."""
        return self._inner.spent_s

    @property
    def on_replay(self) -> str:
        """As the sink; dead letters may be there twice."""
        return f"{self._inner.on_replay}; dead letters may be there twice"

    def require(self) -> None:
        """Raise JobFailureError if the sink or the topic is missing."""
        self._inner.require()
        self._letters.require()

    def arrived(self) -> int | None:
        """The records of both, without those that the query has not handed on."""
        both = (self._inner.arrived(), self._letters.arrived())
        if None in both:
            return None
        return sum(each for each in both if each is not None) - self._never_handed_on

    def prepare(self, frame: DataFrame) -> DataFrame:
        """The frame, if its marked rows fit Kafka and the others the sink."""
        found = dict(frame.dtypes).get(ERROR)
        if found is None:  # the transform marks none
            self._inner.prepare(frame)
            return frame
        if found != "string":
            raise TransformError(
                f"with deadLetters, the column {ERROR} is of type string, null where nothing is"
                f" wrong; it is {found}: cast it, or name it otherwise"
            )
        self._letters.prepare(letters(frame))
        self._inner.prepare(frame.drop(ERROR))
        return frame

    def follow(self, knobs: Mapping[str, float]) -> None:
        """Hand the knobs to the sink."""
        self._inner.follow(knobs)

    def write(self, frame: DataFrame, batch_id: int) -> None:
        """Write the dead letters first; raises JobFailureError if they are too many.

        A batch at whose records the transform raises an error is computed again without them.
        """
        raised: Exception
        with kept(frame):
            rows = self._with_errors(frame)
            try:
                marked = _marked(rows)  # computes every row
            except RAISED as error:
                raised = error
            else:
                raw = aside.of_batch() if self._decodes else NONE
                self._hand_on(rows, raw, marked, batch_id)
                return
        rest = self._rest(frame.sparkSession, batch_id, raised)
        with kept(rest.frame):
            rows = self._with_errors(rest.frame)
            self._hand_on(rows, rest.aside, _marked(rows), batch_id)
            seen = rest.frame.agg(*ledger.observations(rest.frame.columns)).first()
            assert seen is not None  # an aggregation has one row
            self._recounted[batch_id] = {**rest.observed, SINK: seen.asDict()}

    def _with_errors(self, frame: DataFrame) -> DataFrame:
        most = self._most_sent
        return frame if most is None else _with_too_large(frame, most)

    def _hand_on(self, rows: DataFrame, raw: Aside, marked: Aside, batch_id: int) -> None:
        self._require_few(raw, marked)
        for each in (raw, marked):
            if each.records is not None:
                self._letters.write(self._letters.prepare(letters(each.records)), batch_id)
        self._never_handed_on += raw.total
        good = rows.where(F.col(ERROR).isNull()) if ERROR in rows.columns else rows
        self._inner.write(self._inner.prepare(good.drop(ERROR)), batch_id)
        self._allowance.written(raw.total + marked.total)
        self._counted(raw.total + marked.total)

    def _rest(self, session: SparkSession, batch_id: int, raised: Exception) -> Rest:
        """The batch without the records for which the transform raises; others raise again."""
        source, most = self._again.source, self._most + 1
        failure = causes.meaning(causes.of_error(raised), source)
        if not of_a_record(failure):
            raise raised
        log.info(
            "batch %d fails (%s): looking for the records that are to blame", batch_id, failure
        )
        try:
            found = self._again.culprits(
                session, batch_id, lambda frame: frame, most=most, within_s=SEARCH_S
            )
        except OutOfTimeError as error:
            raise JobFailureError(
                failure.reason,
                f"{failure}. The records at which it dies were not found in {SEARCH_S:.0f} s: there"
                " may be many. Correct the transform, or let it mark them",
            ) from error
        if not found:
            raise raised
        if excess := self._allowance.excess(len(found)):
            raise self._too_many(excess, f"{found[0].place}: {found[0].error}")
        log.warning("%s: %s", ", ".join(each.place for each in found[:NAMED]), found[0].error)
        return self._again.without(session, batch_id, found, most)

    def _require_few(self, *found: Aside) -> None:
        excess = self._allowance.excess(sum(each.total for each in found))
        if not excess:
            return
        frame = next(each.records for each in found if each.records is not None)
        first = frame.select(*(name for name in (ERROR, *ORIGIN) if name in frame.columns)).head()
        said = first.asDict() if first else {}
        words = str(said.get(ERROR))[:200]
        if said.keys() >= set(ORIGIN):
            words = f"{said['topic']}/{said['partition']} at {said['offset']}: {words}"
        raise self._too_many(excess, words)

    def _too_many(self, excess: str, first: str) -> JobFailureError:
        return JobFailureError(
            Reason.TOO_MANY_DEAD_LETTERS,
            f"{excess}, would go to {self._topic}. The first: {first.rstrip('. ')}. Correct the"
            " transform, the format or the records, or raise the limit",
        )


def letters(frame: DataFrame) -> DataFrame:
    """Dead letters as records: key, value, their headers, and those that say what they are."""
    known = [name for name in (ERROR, *ORIGIN) if name in frame.columns]
    headers = F.array(*(_header(name, F.col(name)) for name in known))
    if "headers" in frame.columns:
        headers = F.coalesce(F.concat("headers", headers), headers)
    kept = [name for name in ("key", "value") if name in frame.columns]
    whole = frame.select(*kept, headers.alias("headers"))
    if "value" not in kept:
        return whole
    fits = sent_bytes(whole) <= MOST_SENT
    cut = F.concat("headers", F.array(_header("bytes", F.octet_length("value"))))
    return whole.withColumns(
        {
            "value": F.when(fits, F.col("value")),
            "headers": F.when(fits, F.col("headers")).otherwise(cut),
        }
    )


def _with_too_large(frame: DataFrame, most: int) -> DataFrame:
    """The frame, with an error where a row is larger than what the producer sends."""
    size = sent_bytes(frame)
    words = F.concat(F.lit(f"more than {most} bytes, which the producer does not send: "), size)
    own = [F.col(ERROR)] if ERROR in frame.columns else []
    return frame.withColumn(ERROR, F.coalesce(*own, F.when(size > most, words)))


def _marked(frame: DataFrame) -> Aside:
    """The rows that the transform has marked."""
    if ERROR not in frame.columns:
        frame.count()
        return NONE
    marked = frame.where(F.col(ERROR).isNotNull())
    count = marked.count()
    return Aside(count, marked) if count else NONE


def _header(name: str, value: Column) -> Column:
    value = value.cast("string").cast("binary")
    return F.struct(F.lit(f"{PREFIX}{name}").alias("key"), value.alias("value"))

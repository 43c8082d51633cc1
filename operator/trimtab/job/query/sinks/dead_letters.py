"""Rows that a transform could not make sense of go to a topic of their own, the others to the sink.

The transform marks such a row: its column `error` says why. Its key and value are written as they
are, with the error and where the record came from as headers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from trimtab.api import endpoints
from trimtab.errors import TransformError
from trimtab.job.query.protocols import Sink
from trimtab.job.query.sinks.kafka import KafkaSink
from trimtab.job.termination import JobFailureError, Reason

ERROR = "error"
"""The column that marks a row; null where nothing is wrong."""

ORIGIN = ("topic", "partition", "offset")
"""Columns that become headers if the transform keeps them."""

PREFIX = "trimtab."
"""What the names of the headers begin with."""


class DeadLetterSink:
    """A sink whose marked rows go elsewhere."""

    ignores: Collection[str] = ()

    def __init__(
        self,
        inner: Sink,
        document: endpoints.DeadLettersDocument,
        source: endpoints.OnKafka,
        counted: Callable[[int], None],
    ) -> None:
        """The topic is in the source's Kafka. `counted` gets how many each batch had."""
        topic = endpoints.KafkaSinkDocument(
            bootstrap_servers=source.bootstrap_servers,
            tls=source.tls,
            authentication=source.authentication,
            topic=document.topic,
        )
        self._inner, self._letters = inner, KafkaSink(topic)
        self._topic, self._most = document.topic, document.max_per_batch
        self._counted = counted

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
    def on_replay(self) -> str:
        """As the sink; dead letters may be there twice."""
        return f"{self._inner.on_replay}; dead letters may be there twice"

    def require(self) -> None:
        """Raise JobFailureError if the sink or the topic is missing."""
        self._inner.require()
        self._letters.require()

    def arrived(self) -> int | None:
        """The records of both."""
        both = (self._inner.arrived(), self._letters.arrived())
        return None if None in both else sum(each for each in both if each is not None)

    def prepare(self, frame: DataFrame) -> DataFrame:
        """The frame, if its marked rows fit Kafka and the others the sink."""
        types = dict(frame.dtypes)
        if types.get(ERROR) != "string":
            raise TransformError(
                f"deadLetters needs a column {ERROR} of type string, null where nothing is wrong;"
                f" it is {types.get(ERROR, 'missing')}"
            )
        self._letters.prepare(letters(frame))
        self._inner.prepare(frame.drop(ERROR))
        return frame

    def follow(self, knobs: Mapping[str, float]) -> None:
        """Hand the knobs to the sink."""
        self._inner.follow(knobs)

    def write(self, frame: DataFrame, batch_id: int) -> None:
        """Write the marked rows first; raises JobFailureError if they are too many."""
        mine = not frame.storageLevel.useMemory  # a timed batch is kept already
        if mine:
            frame.persist()
        try:
            marked = frame.where(F.col(ERROR).isNotNull())
            count = marked.count()
            if count > self._most:
                raise JobFailureError(Reason.TOO_MANY_DEAD_LETTERS, self._too_many(marked, count))
            if count:
                self._letters.write(self._letters.prepare(letters(marked)), batch_id)
            good = frame.where(F.col(ERROR).isNull()).drop(ERROR)
            self._inner.write(self._inner.prepare(good), batch_id)
            self._counted(count)
        finally:
            if mine:
                frame.unpersist()

    def _too_many(self, marked: DataFrame, count: int) -> str:
        (first,) = marked.select(ERROR).take(1)
        return (
            f"{count} records of a batch would go to {self._topic}, more than"
            f" deadLetters.maxPerBatch: {self._most}. The first: {first[0][:200]}. Correct the"
            " transform or the records, or raise the limit"
        )


def letters(frame: DataFrame) -> DataFrame:
    """Marked rows as records: key, value, and headers that say what they are."""
    known = [name for name in (ERROR, *ORIGIN) if name in frame.columns]
    headers = F.array(*(_header(name) for name in known))
    kept = [name for name in ("key", "value") if name in frame.columns]
    return frame.select(*kept, headers.alias("headers"))


def _header(name: str) -> Column:
    value = F.col(name).cast("string").cast("binary")
    return F.struct(F.lit(f"{PREFIX}{name}").alias("key"), value.alias("value"))

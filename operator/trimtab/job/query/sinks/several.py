"""Several sinks of one query: a batch is computed once and written to each in turn.

After a crash between two of them the batch is written to all of them again, so each leaves what it
leaves after a replay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from trimtab.api.v1alpha1.results import RESULT
from trimtab.errors import TransformError
from trimtab.job.clock import Clock, monotonic_s
from trimtab.job.query.protocols import Sink
from trimtab.job.query.sinks.keeping import kept
from trimtab.job.query.transform import message_of
from trimtab.job.termination import JobFailureError


class Named(NamedTuple):
    """One of the sinks, and what it selects of the results; None: all of them."""

    name: str
    sql: str | None
    sink: Sink


class SeveralSinks:
    """Writes each batch to one sink after the other."""

    def __init__(self, parts: Sequence[Named], *, clock: Clock = monotonic_s) -> None:
        """`clock` is monotonic."""
        self._parts = tuple(parts)
        self._clock = clock
        self.spent_s: dict[str, float] = {}

    @property
    def knobs(self) -> Collection[str]:
        """Those of all of them."""
        return tuple(dict.fromkeys(knob for each in self._parts for knob in each.sink.knobs))

    @property
    def phases(self) -> Collection[str]:
        """Those of all of them."""
        return tuple(dict.fromkeys(phase for each in self._parts for phase in each.sink.phases))

    @property
    def ignores(self) -> Collection[str]:
        """Columns that none of them writes; what `sql` selects is not looked at."""
        first, *others = (set(each.sink.ignores) for each in self._parts)
        return first.intersection(*others)

    @property
    def session_conf(self) -> Mapping[str, str]:
        """What any of them needs."""
        return {key: value for e in self._parts for key, value in e.sink.session_conf.items()}

    @property
    def on_replay(self) -> str:
        """What each of them leaves behind."""
        return "; ".join(f"{each.name}: {each.sink.on_replay}" for each in self._parts)

    def require(self) -> None:
        """Raise JobFailureError if one is missing, or a healing one if it does not answer."""
        for each in self._parts:
            with _told(each.name):
                each.sink.require()

    def arrived(self) -> int | None:
        """They do not count the same records."""
        return None

    def prepare(self, frame: DataFrame) -> DataFrame:
        """The frame as it is, if what each sink gets of it fits that sink."""
        empty = frame.sparkSession.createDataFrame([], frame.schema)
        for each in self._parts:
            with _told(each.name):
                selected = _selected(empty, each.sql)
                if selected.isStreaming:
                    raise TransformError(f"its sql reads the stream: select from `{RESULT}`")
                each.sink.prepare(selected)
        return frame

    def follow(self, knobs: Mapping[str, float]) -> None:
        """Hand the knobs to all of them."""
        for each in self._parts:
            each.sink.follow(knobs)

    def write(self, frame: DataFrame, batch_id: int) -> None:
        """Compute the batch, then write it to each."""
        with kept(frame) as anew:
            if anew:
                frame.count()  # computes every row, whatever a sink selects
            self.spent_s = {each.name: self._written(each, frame, batch_id) for each in self._parts}

    def _written(self, part: Named, frame: DataFrame, batch_id: int) -> float:
        """Write to one of them; the seconds that it took."""
        began_s = self._clock()
        with _told(part.name):
            part.sink.write(part.sink.prepare(_selected(frame, part.sql)), batch_id)
        return self._clock() - began_s


def _selected(frame: DataFrame, sql: str | None) -> DataFrame:
    """What a sink gets of the results."""
    if sql is None:
        return frame
    frame.createOrReplaceTempView(RESULT)
    try:
        return frame.sparkSession.sql(sql)
    except PySparkException as error:
        raise TransformError(f"its sql does not work: {message_of(error)}") from error


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Say which of the sinks a failure is of."""
    try:
        yield
    except JobFailureError as failure:
        words = f"sink {name}: {failure}"
        raise JobFailureError(failure.reason, words, heals=failure.heals) from failure
    except TransformError as error:
        raise type(error)(f"sink {name}: {error}") from error

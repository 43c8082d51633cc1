"""What a PySpark script asks trimtab for, in place of reading and starting a query by itself.

from trimtab import Pipeline

pipeline = Pipeline.current()
clicks = pipeline.read()                      # was: spark.readStream.format("kafka")...load()
out = clicks.selectExpr("key", "upper(CAST(value AS STRING)) AS value")
query = pipeline.write(out)                   # was: out.writeStream...trigger(...).start()
query.awaitTermination()
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_current: Pipeline | None = None


class Query:
    """Stands for the query of a script, which trimtab starts and stops. Each call does nothing."""

    isActive = False  # noqa: N815 -- Spark's names

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # noqa: N802
        """Return at once, so that the script ends."""
        return None if timeout is None else False

    def processAllAvailable(self) -> None:  # noqa: N802
        """Return at once."""

    def stop(self) -> None:
        """Return at once."""


class Pipeline:
    """The pipeline that a script belongs to: its source, its sink, its parameters."""

    def __init__(self, source: DataFrame, params: Mapping[str, str]) -> None:
        """Made by the driver; a script gets it from `current`."""
        self._source, self._params = source, dict(params)
        self.written: Any = None
        """What the script has handed over; None before that."""

    @classmethod
    def current(cls) -> Pipeline:
        """The pipeline that the script runs in.

        Raises:
            RuntimeError: trimtab does not run it.
        """
        if _current is None:
            raise RuntimeError(
                "trimtab does not run this script: name it in transform.python.script of a"
                " StreamPipeline"
            )
        return _current

    @property
    def params(self) -> dict[str, str]:
        """What `transform.python.params` says."""
        return dict(self._params)

    def read(self) -> DataFrame:
        """The records of the source, as a stream with the columns of Spark's own source for it."""
        return self._source

    def write(self, frame: DataFrame) -> Query:
        """Hand over the stream that the pipeline's sink gets, once.

        Raises:
            ValueError: there is one already.
        """
        if self.written is not None:
            raise ValueError("a pipeline has one query: give the second one a pipeline of its own")
        self.written = frame
        return Query()


@contextmanager
def running(pipeline: Pipeline) -> Iterator[None]:
    """Let `Pipeline.current` be this one meanwhile."""
    global _current  # noqa: PLW0603 -- scripts have no other way to it
    _current = pipeline
    try:
        yield
    finally:
        _current = None

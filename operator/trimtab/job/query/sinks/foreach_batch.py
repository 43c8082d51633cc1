"""A function of the user as the sink: foreachBatch as they know it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from trimtab.api import endpoints
from trimtab.job.query.sinks.plain import PlainSink
from trimtab.job.query.transform import load_function
from trimtab.job.termination import JobFailureError, Reason


class FunctionSink(PlainSink):
    """Calls `write(df, batch_id)` with each batch, or `write(df, batch_id, params)`."""

    on_replay = "the function is called again with the same batch_id: it must not write twice"

    def __init__(self, document: endpoints.FunctionSinkDocument) -> None:
        """The module is imported on first use."""
        self._reference = document.module
        self._params = [] if document.params is None else [dict(document.params)]
        self._function: Callable[..., Any] | None = None

    def require(self) -> None:
        """Import it; raises ModuleMissingError or TransformError."""
        self._function = load_function(self._reference)

    def write(self, frame: DataFrame, batch_id: int) -> None:
        """Call the function; what it returns is ignored."""
        write = self._function or load_function(self._reference)
        try:
            write(frame, batch_id, *self._params)
        except (PySparkException, Py4JError, JobFailureError):
            raise
        except Exception as error:
            words = f"{self._reference} raised {type(error).__name__}: {error}"
            raise JobFailureError(Reason.SINK_FAILED, words) from error

"""The sinks: one module for each kind, and the table of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trimtab.api import endpoints
from trimtab.job.query.protocols import Sink
from trimtab.job.query.sinks.delta import DeltaSink
from trimtab.job.query.sinks.files import FilesSink
from trimtab.job.query.sinks.foreach_batch import FunctionSink
from trimtab.job.query.sinks.jdbc import JdbcSink
from trimtab.job.query.sinks.kafka import KafkaSink
from trimtab.job.query.sinks.noop import NoopSink
from trimtab.job.query.sinks.several import Named, SeveralSinks


def _several(document: endpoints.SeveralSinksDocument) -> SeveralSinks:
    return SeveralSinks([Named(e.name, e.sql, open_sink(e.sink)) for e in document.sinks])


SINKS: Mapping[type, Callable[[Any], Sink]] = {
    endpoints.KafkaSinkDocument: KafkaSink,
    endpoints.NoopSinkDocument: NoopSink,
    endpoints.FunctionSinkDocument: FunctionSink,
    endpoints.FilesSinkDocument: FilesSink,
    endpoints.DeltaSinkDocument: DeltaSink,
    endpoints.JdbcSinkDocument: JdbcSink,
    endpoints.SeveralSinksDocument: _several,
}
"""The class of each kind of sink, by its document."""


def open_sink(document: endpoints.SinkDocument) -> Sink:
    """The sink of a job; it connects on first use."""
    return SINKS[type(document)](document)

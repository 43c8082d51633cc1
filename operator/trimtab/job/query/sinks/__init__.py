"""Where results go: one module for each kind, and the table of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trimtab.api import contract
from trimtab.job.query.protocols import Sink
from trimtab.job.query.sinks.kafka import KafkaSink
from trimtab.job.query.sinks.noop import NoopSink

SINKS: Mapping[type, Callable[[Any], Sink]] = {
    contract.KafkaSink: KafkaSink,
    contract.NoopSink: NoopSink,
}
"""The driver's part of each kind, by its document."""


def open_sink(document: contract.Sink) -> Sink:
    """The sink of a job; it connects when it is first asked."""
    return SINKS[type(document)](document)

"""Where records come from: one module for each kind, and the table of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trimtab.api import contract
from trimtab.job.query.protocols import Source
from trimtab.job.query.sources.kafka import KafkaSource

SOURCES: Mapping[type, Callable[[Any], Source]] = {
    contract.KafkaSource: KafkaSource,
}
"""The driver's part of each kind, by its document."""


def open_source(document: contract.KafkaSource) -> Source:
    """The source of a job; it connects when it is first asked."""
    return SOURCES[type(document)](document)

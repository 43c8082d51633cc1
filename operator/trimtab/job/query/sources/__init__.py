"""The sources: one module for each kind, and the table of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trimtab.api import endpoints
from trimtab.job.query.protocols import Source
from trimtab.job.query.sources.kafka import KafkaSource
from trimtab.job.query.sources.rate import RateSource
from trimtab.job.query.sources.several import SeveralSources
from trimtab.job.query.sources.stored import DeltaSource, FilesSource

SOURCES: Mapping[type, Callable[[Any, int | None], Source]] = {
    endpoints.KafkaSourceDocument: KafkaSource,
    endpoints.SeveralSourcesDocument: SeveralSources,
    endpoints.RateSourceDocument: RateSource,
    endpoints.DeltaSourceDocument: DeltaSource,
    endpoints.FilesSourceDocument: FilesSource,
}
"""The class of each kind of source, by its document."""


def open_source(document: endpoints.SourceDocument, aside: int | None = None) -> Source:
    """The source of a job; it connects on first use.

    `aside` is how many records of a batch are kept aside if they cannot be decoded. None: the first
    one fails the batch.
    """
    return SOURCES[type(document)](document, aside)

"""Several Kafka sources of one query, each a view of its name, maybe of different clusters.

Their offsets are told apart by `source/topic`. A batch holds part of each: the batch limit is
shared out by their partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from trimtab.api import contract, endpoints
from trimtab.api.knobs import MAX_OFFSETS, MIN_PARTITIONS
from trimtab.api.topics import qualified, unqualified
from trimtab.job.query.offset_log import Offsets
from trimtab.job.query.sources.kafka import KafkaSource, OffsetSource
from trimtab.job.query.topics import identity_of
from trimtab.job.termination import Cause, JobFailureError
from trimtab.kafka.admin import KafkaIdentity
from trimtab.kafka.several import SeveralKafkas

SHARED = (MAX_OFFSETS.name, MIN_PARTITIONS.name)
"""Knobs whose value is that of all sources together."""


@dataclass(frozen=True, slots=True)
class _One:
    """One of the sources."""

    source: KafkaSource
    options: contract.SourceOptions


class SeveralSources(OffsetSource):
    """Reads each of its sources as a stream of its own."""

    def __init__(
        self, document: endpoints.SeveralSourcesDocument, aside: int | None = None
    ) -> None:
        """Connects on first use; nothing is kept aside, so the first bad value fails a batch."""
        del aside
        self._ones = {
            each.name: _One(
                KafkaSource(each.source, name=each.name),
                contract.SourceOptions(
                    starting_offsets=each.starting_offsets,
                    fail_on_data_loss=each.fail_on_data_loss,
                    isolation_level=each.isolation_level,
                ),
            )
            for each in document.sources
        }
        self._kafkas = SeveralKafkas({n: one.source.admin for n, one in self._ones.items()})

    @property
    def topics(self) -> list[str]:
        """The topics of all sources, as `source/topic`."""
        each = self._ones.items()
        return [qualified(name, topic) for name, one in each for topic in one.source.topics]

    @property
    def names(self) -> Collection[str]:
        """The names of the views."""
        return self._ones

    def require(self) -> None:
        """Raise JobFailureError if a topic is missing, or a healing one without an answer."""
        for name, one in self._ones.items():
            try:
                one.source.require()
            except JobFailureError as failure:
                words = f"source {name}: {failure}"
                raise JobFailureError(failure.reason, words, heals=failure.heals) from failure

    def meaning(self, causes: Sequence[Cause]) -> JobFailureError | None:
        """What one of them knows of a failure."""
        for one in self._ones.values():
            if failure := one.source.meaning(causes):
                return failure
        return None

    def identity(self) -> KafkaIdentity:
        """The ids of all clusters and topics; raises a healing JobFailureError."""
        return identity_of(self._kafkas, self.topics)

    def partition_count(self) -> int:
        """Partitions of all topics; raises a healing JobFailureError without an answer."""
        return sum(one.source.partition_count() for one in self._ones.values())

    def reads(self, option: Callable[[str], str | None]) -> bool:
        """Whether a stream with these options is one of them."""
        return any(one.source.reads(option) for one in self._ones.values())

    def read(
        self,
        session: SparkSession,
        options: contract.SourceOptions,
        knobs: Mapping[str, float],
        begin: Offsets | None = None,
        *,
        at_once: bool = False,
    ) -> Mapping[str, DataFrame]:
        """The stream of each source; each has options of its own."""
        del options
        counts = {name: one.source.partition_count() for name, one in self._ones.items()}
        whole, frames = max(1, sum(counts.values())), {}
        for name, one in self._ones.items():
            part = shared(knobs, counts[name] / whole)
            own = None if begin is None else offsets_of(begin, name)
            (frame,) = one.source.read(
                session, one.options, part, own or None, at_once=at_once
            ).values()
            frames[name] = frame
        return frames


def shared(knobs: Mapping[str, float], share: float) -> dict[str, float]:
    """The knobs of a source that has this share of all partitions."""
    part = {name: max(1.0, round(knobs[name] * share)) for name in SHARED if name in knobs}
    return {**knobs, **part}


def offsets_of(offsets: Offsets, name: str) -> dict[tuple[str, int], int]:
    """The offsets of one of several sources, by its topics' own names."""
    found = {}
    for (topic, number), offset in offsets.items():
        source, own = unqualified(topic)
        if source == name:
            found[own, number] = offset
    return found

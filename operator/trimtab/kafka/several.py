"""Several Kafkas as one, whose topics are `source/topic`, so that nobody else needs to know."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from trimtab.api.topics import qualified, unqualified
from trimtab.kafka.admin import KafkaAdmin, KafkaIdentity, Retention, Topics

T = TypeVar("T")
Partition = tuple[str, int]


class SeveralKafkas:
    """Asks each Kafka for its own topics; fails as the first one that fails."""

    def __init__(self, kafkas: Mapping[str, KafkaAdmin]) -> None:
        """`kafkas` by the names of their sources."""
        self._kafkas = kafkas

    def look(self, topics: Sequence[str]) -> Topics:
        """Partitions of the topics and the state of their replicas."""
        found = {source: self._kafkas[source].look(own) for source, own in _by_source(topics)}
        partitions = {
            qualified(source, topic): count
            for source, each in found.items()
            for topic, count in each.partitions.items()
        }
        return Topics(partitions, sum(each.out_of_sync for each in found.values()))

    def identity(self, topics: Sequence[str]) -> KafkaIdentity:
        """Which clusters and which topics these are."""
        found = {source: self._kafkas[source].identity(own) for source, own in _by_source(topics)}
        known = {source: each.cluster for source, each in found.items() if each.cluster}
        ids = {
            qualified(source, topic): number
            for source, each in found.items()
            for topic, number in each.topics.items()
        }
        whole = len(known) == len(found)
        together = ",".join(f"{source}={known[source]}" for source in sorted(known))
        return KafkaIdentity(together if whole else None, ids)

    def end_offsets(
        self, partitions: Mapping[str, int], *, committed: bool = True
    ) -> dict[Partition, int]:
        """The end offset of each partition."""
        return self._of_partitions(
            partitions, lambda kafka, own: kafka.end_offsets(own, committed=committed)
        )

    def first_offsets(self, partitions: Mapping[str, int]) -> dict[Partition, int]:
        """The offset of the oldest record of each partition."""
        return self._of_partitions(partitions, KafkaAdmin.first_offsets)

    def timestamps(self, positions: Mapping[Partition, int]) -> dict[Partition, float]:
        """When the records at these offsets were written, where known."""
        parts: dict[str, dict[Partition, int]] = defaultdict(dict)
        for (topic, number), offset in positions.items():
            source, own = unqualified(topic)
            parts[source][own, number] = offset
        return {
            (qualified(source, topic), number): at_s
            for source, own in parts.items()
            for (topic, number), at_s in self._kafkas[source].timestamps(own).items()
        }

    def retention(self, topics: Sequence[str]) -> dict[str, Retention]:
        """What the topics keep; those that may not be asked are missing."""
        return {
            qualified(source, topic): kept
            for source, own in _by_source(topics)
            for topic, kept in self._kafkas[source].retention(own).items()
        }

    def _of_partitions(
        self,
        partitions: Mapping[str, int],
        ask: Callable[[KafkaAdmin, Mapping[str, int]], Mapping[Partition, int]],
    ) -> dict[Partition, int]:
        parts: dict[str, dict[str, int]] = defaultdict(dict)
        for topic, count in partitions.items():
            source, own = unqualified(topic)
            parts[source][own] = count
        return {
            (qualified(source, topic), number): offset
            for source, own in parts.items()
            for (topic, number), offset in ask(self._kafkas[source], own).items()
        }


def _by_source(topics: Iterable[str]) -> Iterable[tuple[str, list[str]]]:
    parts: dict[str, list[str]] = defaultdict(list)
    for topic in topics:
        source, own = unqualified(topic)
        parts[source].append(own)
    return parts.items()

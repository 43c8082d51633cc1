"""Reads topics, partition leaders, brokers and end offsets from a Kafka cluster.

Every call has a time limit and raises UnavailableError if no broker answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from trimtab.api.connection import KafkaConnection
from trimtab.errors import UnavailableError


class KafkaAdmin:
    """Reads one cluster's metadata and end offsets, without a consumer group."""

    def __init__(self, connection: KafkaConnection, timeout_s: float) -> None:
        """Connects on the first call."""
        self._servers, self._timeout_s = connection.servers, timeout_s
        self._admin = AdminClient(
            {
                **connection.properties(),
                "client.id": "trimtab-driver",
                "socket.timeout.ms": int(timeout_s * 1000),
                "reconnect.backoff.max.ms": 2000,
                "log_level": 0,  # its errors reach us as exceptions
            }
        )

    def partitions(self, topics: Sequence[str]) -> dict[str, int]:
        """Partition counts of the topics that exist; raises UnavailableError."""
        metadata = self._metadata()
        found = {t: metadata.topics[t] for t in topics if t in metadata.topics}
        return {t: len(m.partitions) for t, m in found.items() if m.error is None}

    def leaders(self, topics: Sequence[str]) -> list[int]:
        """The leader of each partition; raises UnavailableError."""
        found = self._metadata().topics
        known = (found[t].partitions.values() for t in topics if t in found)
        return [partition.leader for partitions in known for partition in partitions]

    def out_of_sync(self, topics: Sequence[str]) -> int:
        """Partitions with fewer replicas in sync than they should have; raises UnavailableError."""
        found = self._metadata().topics
        known = (p for t in topics if t in found for p in found[t].partitions.values())
        return sum(len(partition.isrs) < len(partition.replicas) for partition in known)

    def brokers(self) -> dict[int, tuple[str, str | None]]:
        """Host and rack of each broker, by its id; raises UnavailableError."""
        try:
            asked = self._admin.describe_cluster(request_timeout=self._timeout_s)
            nodes = asked.result(self._timeout_s + 1).nodes
        except (KafkaException, TimeoutError) as error:
            raise UnavailableError(f"Kafka does not answer: {_message(error)}") from error
        return {node.id: (node.host, node.rack) for node in nodes}

    def _metadata(self) -> Any:
        try:
            return self._admin.list_topics(timeout=self._timeout_s)
        except KafkaException as error:
            words = f"Kafka at {self._servers} does not answer: {_message(error)}"
            raise UnavailableError(words) from error

    def end_offsets(self, topics: Sequence[str]) -> dict[tuple[str, int], int]:
        """The end offset of each partition, by topic and number.

        Raises:
            UnavailableError: one of them did not answer.
        """
        wanted = [
            TopicPartition(topic, partition)
            for topic, count in self.partitions(topics).items()
            for partition in range(count)
        ]
        if not wanted:
            raise UnavailableError(f"Kafka has none of the topics {', '.join(topics)}")
        latest = dict.fromkeys(wanted, OffsetSpec.latest())
        try:
            futures = self._admin.list_offsets(latest, request_timeout=self._timeout_s)
            answers = {tp: f.result(self._timeout_s + 1) for tp, f in futures.items()}
        except (KafkaException, TimeoutError) as error:
            raise UnavailableError(f"Kafka does not answer: {_message(error)}") from error
        return {(tp.topic, tp.partition): info.offset for tp, info in answers.items()}


def _message(error: Exception) -> str:
    inner = error.args[0] if error.args else error
    return str(inner.str()) if hasattr(inner, "str") else str(error) or type(error).__name__

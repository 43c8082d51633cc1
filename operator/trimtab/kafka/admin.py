"""Reads topics, partition leaders, brokers and end offsets from a Kafka cluster.

Only the topics that it is asked for are described, by their names or by a pattern. Every call has a
time limit and raises UnavailableError if no broker answers, DeniedError if one refuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec

from trimtab.api.connection import KafkaConnection
from trimtab.api.topics import is_pattern, matching
from trimtab.errors import CredentialsInvalidError, UnavailableError
from trimtab.kafka import librdkafka, reader
from trimtab.kafka.refusals import Refusals

if TYPE_CHECKING:
    from confluent_kafka.admin import ConfigEntry, DescribeClusterResult, TopicDescription

T = TypeVar("T")

NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""What brokers without topic ids answer."""


@dataclass(frozen=True, slots=True)
class KafkaIdentity:
    """What stays the same when addresses change: the cluster's id, and the ids of topics.

    An unknown id is missing: None, or no entry.
    """

    cluster: str | None
    topics: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Retention:
    """What a topic keeps of its records, in each partition; None: no limit."""

    seconds: float | None = None
    size: int | None = None
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Topics:
    """Some topics as they are now."""

    partitions: Mapping[str, int]
    """Their number by topic; topics that do not exist are missing."""
    out_of_sync: int
    """Partitions with fewer replicas in sync than they should have."""


class KafkaAdmin:
    """Reads one cluster's metadata and end offsets, without a consumer group."""

    def __init__(self, connection: KafkaConnection, timeout_s: float) -> None:
        """Connects on the first call."""
        self._connection, self._timeout_s = connection, timeout_s
        self._refusals = Refusals(connection.servers)

    @cached_property
    def _admin(self) -> AdminClient:
        """The client, once there is what it logs in with.

        Raises:
            CredentialsMissingError: there is not.
            CredentialsInvalidError: it cannot be used.
        """
        said: dict[str, Any] = {
            **librdkafka.properties(self._connection),
            "client.id": "trimtab-driver",
            "socket.timeout.ms": int(self._timeout_s * 1000),
            "reconnect.backoff.max.ms": 2000,
            "error_cb": self._refusals,
            "log_level": 0,  # its errors reach us as exceptions
        }
        try:
            return AdminClient(said)
        except KafkaException as error:
            words = f"Kafka's client cannot use what the Secrets hold: {_message(error)}"
            raise CredentialsInvalidError(words) from error

    def partitions(self, topics: Sequence[str]) -> dict[str, int]:
        """Partition counts of the topics that exist; raises UnavailableError."""
        return {name: len(found.partitions) for name, found in self._described(topics).items()}

    def leaders(self, topics: Sequence[str]) -> list[int]:
        """The leader of each partition that has one; raises UnavailableError."""
        known = (found.partitions for found in self._described(topics).values())
        return [each.leader.id for partitions in known for each in partitions if each.leader]

    def look(self, topics: Sequence[str]) -> Topics:
        """Partitions of the topics and the state of their replicas; raises UnavailableError."""
        described = self._described(topics)
        each = [partition for found in described.values() for partition in found.partitions]
        return Topics(
            {name: len(found.partitions) for name, found in described.items()},
            sum(len(partition.isr) < len(partition.replicas) for partition in each),
        )

    def identity(self, topics: Sequence[str]) -> KafkaIdentity:
        """Which cluster and which topics these are; raises UnavailableError."""
        described = self._described(topics)
        ids = {name: str(found.topic_id) for name, found in described.items()}
        known = {name: each for name, each in ids.items() if each != NO_ID}
        return KafkaIdentity(self._cluster().cluster_id, known)

    def brokers(self) -> dict[int, tuple[str, str | None]]:
        """Host and rack of each broker, by its id; raises UnavailableError."""
        return {node.id: (node.host, node.rack) for node in self._cluster().nodes}

    def end_offsets(
        self, partitions: Mapping[str, int], *, committed: bool = True
    ) -> dict[tuple[str, int], int]:
        """The end offset of each partition, by topic and number; `partitions` are known counts.

        With `committed`, it is where the first open transaction begins, if there is one: nothing
        beyond can be read with `read_committed`.

        Raises:
            UnavailableError: one of them did not answer.
        """
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        return self._offsets(partitions, OffsetSpec.latest(), level)

    def first_offsets(self, partitions: Mapping[str, int]) -> dict[tuple[str, int], int]:
        """The offset of the oldest record of each partition; raises UnavailableError."""
        return self._offsets(partitions, OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED)

    def retention(self, topics: Sequence[str]) -> dict[str, Retention]:
        """What the topics keep; one whose configuration may not be read is missing.

        Raises:
            UnavailableError: no broker answered.
        """
        wanted = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in topics]
        asked = self._call("describe_configs", wanted)
        found = {}
        for resource, future in asked.items():
            try:
                found[str(resource.name)] = _retention(future.result(self._timeout_s + 1))
            except (KafkaException, TimeoutError):
                continue
        return found

    def _offsets(
        self, partitions: Mapping[str, int], which: OffsetSpec, level: IsolationLevel
    ) -> dict[tuple[str, int], int]:
        wanted = [
            TopicPartition(topic, number)
            for topic, count in partitions.items()
            for number in range(count)
        ]
        try:
            asked = self._call("list_offsets", dict.fromkeys(wanted, which), isolation_level=level)
            answers = {tp: self._result(future, tp.topic) for tp, future in asked.items()}
        except _NoTopicError as error:
            raise UnavailableError(f"Kafka has not all of its topics: {error}") from error
        return {(tp.topic, tp.partition): info.offset for tp, info in answers.items()}

    def timestamps(self, positions: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], float]:
        """When the records at these offsets were written; see `reader.timestamps`."""
        return reader.timestamps(self._connection, positions) if positions else {}

    def commit_group(self, group: str, positions: Mapping[tuple[str, int], int]) -> None:
        """Set the offsets of a consumer group that nobody reads as; raises UnavailableError."""
        parts = [TopicPartition(t, number, offset) for (t, number), offset in positions.items()]
        wanted = [ConsumerGroupTopicPartitions(group, parts)]
        for future in self._call("alter_consumer_group_offsets", wanted).values():
            done: ConsumerGroupTopicPartitions = self._result(future, group)
            for part in done.topic_partitions or ():
                if part.error is not None:
                    words = f"Kafka does not take offsets of group {group!r}: {part.error.str()}"
                    raise UnavailableError(words)

    def _described(self, topics: Sequence[str]) -> dict[str, TopicDescription]:
        """The description of each topic that exists."""
        named = self._named(topics)
        asked = self._call("describe_topics", TopicCollection(named)) if named else {}
        found = {}
        for name, future in asked.items():
            try:
                found[name] = self._result(future, name)
            except _NoTopicError:
                continue
        return found

    def _named(self, topics: Sequence[str]) -> list[str]:
        """The names of topics; in place of a pattern those that match now, but Kafka's own."""
        if not any(map(is_pattern, topics)):
            return list(topics)
        self._admin.poll(0)
        try:
            known = self._admin.list_topics(timeout=self._timeout_s).topics
        except KafkaException as error:
            raise self._unavailable(error) from error
        own = {name for name in known if not name.startswith("__")}
        return sorted({name for name in topics if not is_pattern(name)} | matching(topics, own))

    def _cluster(self) -> DescribeClusterResult:
        asked: Future[DescribeClusterResult] = self._call("describe_cluster")
        return self._result(asked)

    def _call(self, name: str, *what: Any, **how: Any) -> Any:
        self._admin.poll(0)  # what it reported meanwhile, which would pile up
        try:
            return getattr(self._admin, name)(*what, **how, request_timeout=self._timeout_s)
        except KafkaException as error:
            raise self._unavailable(error) from error

    def _result(self, future: Future[T], name: str = "") -> T:
        """The answer about a topic or a consumer group of that name."""
        try:
            found = future.result(self._timeout_s + 1)
        except KafkaException as error:
            code = error.args[0].code() if error.args else None
            if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise _NoTopicError(_message(error)) from error
            if code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                raise self._refusals.of_topic(name) from error
            if code == KafkaError.GROUP_AUTHORIZATION_FAILED:
                raise self._refusals.of_group(name) from error
            raise self._unavailable(error) from error
        except TimeoutError as error:
            raise self._unavailable(error) from error
        self._refusals.clear()
        return found

    def _unavailable(self, error: Exception) -> UnavailableError:
        self._admin.poll(0)  # hands over why connections failed
        servers, asked = self._connection.servers, self._connection.security.protocol
        words = f"Kafka at {servers} does not answer to {asked}: {_message(error)}"
        return self._refusals.denied() or UnavailableError(words)


def _retention(config: Mapping[str, ConfigEntry]) -> Retention:
    """What a topic's configuration keeps; a topic that is only compacted deletes nothing by age."""
    if "delete" not in str(config["cleanup.policy"].value):
        return Retention()
    time_ms, size = (int(str(config[n].value)) for n in ("retention.ms", "retention.bytes"))
    return Retention(time_ms / 1000 if time_ms >= 0 else None, size if size >= 0 else None)


class _NoTopicError(Exception):
    """Kafka answered that it has no such topic or partition."""


def _message(error: Exception) -> str:
    inner = error.args[0] if error.args else error
    return str(inner.str()) if hasattr(inner, "str") else str(error) or type(error).__name__

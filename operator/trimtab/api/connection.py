"""How a client reaches a Kafka: one value, handed on as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KafkaSecurity:
    """Encryption of the connection, and who the client is. Plain text so far: nothing to say."""


@dataclass(frozen=True, slots=True)
class KafkaConnection:
    """The servers of a Kafka, how to be let in, and further properties of its clients."""

    servers: str
    """host:port of some brokers, comma separated."""
    security: KafkaSecurity = field(default_factory=KafkaSecurity)
    options: Mapping[str, str] = field(default_factory=dict)
    """By the names that Kafka's own client and librdkafka share."""

    def properties(self) -> dict[str, str]:
        """The properties of a client, by those names."""
        return {**self.options, "bootstrap.servers": self.servers}

    def spark_options(self) -> dict[str, str]:
        """The same as options of Spark's Kafka source or sink."""
        return {f"kafka.{name}": value for name, value in self.properties().items()}

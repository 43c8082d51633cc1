"""How a client connects to Kafka, in one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KafkaSecurity:
    """Encryption and authentication. Empty for now: only plain text is supported."""


@dataclass(frozen=True, slots=True)
class KafkaConnection:
    """A cluster's bootstrap servers and security, and further client properties."""

    servers: str
    """host:port of some brokers, separated by commas."""
    security: KafkaSecurity = field(default_factory=KafkaSecurity)
    options: Mapping[str, str] = field(default_factory=dict)
    """By names that the Java client and librdkafka share."""

    def properties(self) -> dict[str, str]:
        """The properties of a client."""
        return {**self.options, "bootstrap.servers": self.servers}

    def spark_options(self) -> dict[str, str]:
        """The properties as options of Spark's Kafka source or sink."""
        return {f"kafka.{name}": value for name, value in self.properties().items()}

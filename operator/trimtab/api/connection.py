"""How a client connects to Kafka, in one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trimtab.api.v1alpha1.kafka_client import Security


@dataclass(frozen=True, slots=True)
class KafkaConnection:
    """A cluster's bootstrap servers and security, and further client properties."""

    servers: str
    """host:port of some brokers, separated by commas."""
    security: Security = field(default_factory=Security)
    options: Mapping[str, str] = field(default_factory=dict)
    """By names that the Java client and librdkafka share."""

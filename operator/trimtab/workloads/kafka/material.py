"""What the Secrets of a secured KafkaCluster hold, as fingerprints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Material:
    """Fingerprints that change with what the Secrets hold."""

    stores: str
    """Of the brokers' certificate and of what they trust: brokers are replaced when it changes."""
    users: str
    """Of the logins: a Job sets them when it changes."""

"""The Secrets of a secured KafkaCluster, as manifests and read back. Pure."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from trimtab.api.v1alpha1.kafka_security import (
    PASSWORD,
    TRUSTED,
    USERNAME,
    authority_secret,
    broker_secret,
    trusted_secret,
    user_secret,
)
from trimtab.ports import Manifest, Pair
from trimtab.workloads.common import KAFKA_LABEL, child

CERTIFICATE, KEY, PREVIOUS = "tls.crt", "tls.key", "previous.crt"
KEYSTORE = "broker.pem"
"""Key and certificate in one file, as Kafka's PEM stores want them."""


def authority(parent: Manifest, pair: Pair, previous: str) -> Manifest:
    """The authority with its key, and the one before."""
    data = {CERTIFICATE: pair.certificate, KEY: pair.key, PREVIOUS: previous}
    return _secret(parent, authority_secret(parent["metadata"]["name"]), data)


def trusted(parent: Manifest, certificates: str) -> Manifest:
    """What clients trust."""
    return _secret(parent, trusted_secret(parent["metadata"]["name"]), {TRUSTED: certificates})


def broker(parent: Manifest, pair: Pair) -> Manifest:
    """The brokers' own certificate."""
    data = {CERTIFICATE: pair.certificate, KEY: pair.key, KEYSTORE: pair.key + pair.certificate}
    return _secret(parent, broker_secret(parent["metadata"]["name"]), data)


def user(parent: Manifest, name: str, password: str) -> Manifest:
    """A user's login."""
    cluster = parent["metadata"]["name"]
    return _secret(parent, user_secret(cluster, name), {USERNAME: name, PASSWORD: password})


def read(secret: Manifest | None) -> Mapping[str, str]:
    """What a Secret holds, as text; nothing of it if there is none, or it is no text."""
    data = (secret or {}).get("data") or {}
    try:
        return {key: base64.b64decode(value).decode() for key, value in data.items()}
    except ValueError:  # base64's own error is one
        return {}


def pair(held: Mapping[str, str]) -> Pair | None:
    """A certificate with its key; None if one of them is missing."""
    certificate, key = held.get(CERTIFICATE), held.get(KEY)
    return Pair(certificate, key) if certificate and key else None


def _secret(parent: Manifest, name: str, held: Mapping[str, str]) -> Manifest:
    data = {key: base64.b64encode(text.encode()).decode() for key, text in held.items()}
    labels = {KAFKA_LABEL: parent["metadata"]["name"]}
    return child(parent, "Secret", name, labels, {"type": "Opaque", "data": data})

"""Strimzi's objects, as its operators would keep them."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

API = "kafka.strimzi.io/v1"
LISTENERS: tuple[Json, ...] = (
    {"name": "plain", "port": 9092, "type": "internal", "tls": False},
    {
        "name": "tls", "port": 9093, "type": "internal", "tls": True,
        "authentication": {"type": "tls"},
    },
    {
        "name": "scram", "port": 9094, "type": "internal", "tls": True,
        "authentication": {"type": "scram-sha-512"},
    },
    {
        "name": "own", "port": 9095, "type": "internal", "tls": True,
        "authentication": {"type": "custom"},
    },
    {
        "name": "public", "port": 9096, "type": "internal", "tls": True,
        "configuration": {
            "brokerCertChainAndKey": {
                "secretName": "public", "certificate": "tls.crt", "key": "tls.key",
            }
        },
    },
)  # fmt: skip


def address(listener: str) -> str:
    """Where a listener of the Kafka `events` is."""
    port = next(each["port"] for each in LISTENERS if each["name"] == listener)
    return f"events-kafka-bootstrap.n.svc:{port}"


def kafka(namespace: str = "n") -> Json:
    """A Kafka with a listener of each sort, all but `own` and `public` told in the status."""
    told = [
        {"name": each["name"], "bootstrapServers": address(each["name"])} for each in LISTENERS[:3]
    ]
    return _object("Kafka", "events", namespace, {"kafka": {"listeners": [*LISTENERS]}}) | {
        "status": {"listeners": told}
    }


def user(type_: str = "scram-sha-512", name: str = "clicks", namespace: str = "n") -> Json:
    """A KafkaUser with its Secret."""
    made = _object("KafkaUser", name, namespace, {"authentication": {"type": type_}})
    return _in_events(made) | {"status": {"username": name, "secret": f"{name}-login"}}


def topic(name: str = "clicks", partitions: int = 12, namespace: str = "n") -> Json:
    """A KafkaTopic."""
    return _in_events(_object("KafkaTopic", name, namespace, {"partitions": partitions}))


def _object(kind: str, name: str, namespace: str, spec: Json) -> Json:
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": API, "kind": kind, "metadata": meta, "spec": spec}


def _in_events(made: Json) -> Json:
    made["metadata"]["labels"] = {"strimzi.io/cluster": "events"}
    return made

"""Names, addresses and labels of a KafkaCluster's children, by which the operator finds them."""

from __future__ import annotations

import base64
import hashlib

from trimtab.api.listening import BROKER_PORT
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.workloads.common import COMPONENT_LABEL, KAFKA_LABEL

VOLUME = "data"
"""The volume of a broker, and its claim's template."""
PEER_CONFIG = "peer.properties"
"""Key of the ConfigMap with the configuration of a client that is as good as a broker."""


def brokers_name(cluster: str) -> str:
    """The brokers' StatefulSet, headless Service and PodDisruptionBudget."""
    return f"{cluster}-kafka"


def broker_pod(cluster: str, ordinal: int) -> str:
    """The pod of a broker."""
    return f"{brokers_name(cluster)}-{ordinal}"


def claim_name(cluster: str, ordinal: int) -> str:
    """The claim of a broker, as the StatefulSet names it."""
    return f"{VOLUME}-{broker_pod(cluster, ordinal)}"


def config_name(cluster: str) -> str:
    """The ConfigMap with server.properties."""
    return f"{cluster}-kafka"


def address(cluster: str, namespace: str, ordinal: int | str) -> str:
    """The stable host name of a broker."""
    service = brokers_name(cluster)
    return f"{service}-{ordinal}.{service}.{namespace}.svc"


def hosts(cluster: str, namespace: str, replicas: int) -> list[str]:
    """Every name by which brokers are reached."""
    short = [address(cluster, namespace, i) for i in range(replicas)]
    return [*short, *(f"{host}.cluster.local" for host in short)]


def bootstrap_servers(cluster: str, namespace: str, replicas: int) -> str:
    """host:port of every broker, by their stable names."""
    return servers(cluster, namespace, replicas, BROKER_PORT)


def servers(cluster: str, namespace: str, replicas: int, port: int) -> str:
    """The same at another port."""
    return ",".join(f"{address(cluster, namespace, i)}:{port}" for i in range(replicas))


def cluster_id(namespace: str, name: str) -> str:
    """22 URL-safe characters that depend only on namespace and name.

    So a cluster that is deleted and created again can use its old volumes.
    """
    raw = hashlib.sha256(f"{namespace}/{name}".encode()).digest()[:16]
    text = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    return f"t{text[1:]}"  # Kafka's tools refuse an id that begins with a dash


def labels(cluster: str, component: str) -> dict[str, str]:
    """Of the objects that are for one part of a cluster."""
    return {KAFKA_LABEL: cluster, COMPONENT_LABEL: component}


def copies(spec: KafkaClusterSpec) -> int:
    """Replicas of each partition."""
    return min(3, spec.replicas)

"""The listeners of a KafkaCluster's brokers. Pure.

A secured one has four: CLIENT, with TLS and logins; PEERS, for brokers and the Job that makes
topics and users, who show the brokers' certificate; CONTROLLER, likewise; and LOCAL, plain text on
loopback, for the readiness probe alone.
"""

from __future__ import annotations

from trimtab.api.listening import BROKER_PORT, CONTROLLER_PORT, PEERS_PORT, PROBE_PORT
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.api.v1alpha1.kafka_security import TRUSTED, broker_secret, trusted_secret
from trimtab.ports import Manifest
from trimtab.workloads.kafka import names
from trimtab.workloads.kafka.secrets import KEYSTORE

STORES = "/etc/kafka-tls"
"""Where pods find the brokers' certificate and what is trusted."""
_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_PEM = {
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": f"{STORES}/{KEYSTORE}",
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": f"{STORES}/{TRUSTED}",
}


def properties(spec: KafkaClusterSpec) -> dict[str, str]:
    """What the brokers' configuration says of listeners."""
    if spec.security is None:
        return {
            "listeners": f"CLIENT://:{BROKER_PORT},CONTROLLER://:{CONTROLLER_PORT}",
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "CLIENT",
        }
    client = "SASL_SSL" if spec.security.scram else "SSL"
    logins = {
        "listener.name.client.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.client.scram-sha-512.sasl.jaas.config": _MODULE,
    }
    return {
        "listeners": f"CLIENT://:{BROKER_PORT},PEERS://:{PEERS_PORT},"
        f"LOCAL://localhost:{PROBE_PORT},CONTROLLER://:{CONTROLLER_PORT}",
        "listener.security.protocol.map": f"CLIENT:{client},PEERS:SSL,LOCAL:PLAINTEXT,"
        "CONTROLLER:SSL",
        "inter.broker.listener.name": "PEERS",
        "listener.name.peers.ssl.client.auth": "required",
        "listener.name.controller.ssl.client.auth": "required",
        **_PEM,
        **(logins if spec.security.scram else {}),
    }


def advertised(spec: KafkaClusterSpec, address: str) -> str:
    """What a broker at an address tells clients and the others."""
    client = f"CLIENT://{address}:{BROKER_PORT}"
    if spec.security is None:
        return client
    return f"{client},PEERS://{address}:{PEERS_PORT},LOCAL://localhost:{PROBE_PORT}"


def peer(spec: KafkaClusterSpec) -> dict[str, str]:
    """The configuration of a client that is as good as a broker; empty where none is needed."""
    return {} if spec.security is None else {"security.protocol": "SSL", **_PEM}


def peer_servers(parent: Manifest, spec: KafkaClusterSpec) -> str:
    """Where such a client connects."""
    meta, port = parent["metadata"], BROKER_PORT if spec.security is None else PEERS_PORT
    return names.servers(meta["name"], meta["namespace"], spec.replicas, port)


def stores(parent: Manifest, spec: KafkaClusterSpec) -> tuple[list[Manifest], list[Manifest]]:
    """Volume and mount with the brokers' certificate; none without security."""
    if spec.security is None:
        return [], []
    cluster = parent["metadata"]["name"]
    held = ((broker_secret(cluster), KEYSTORE), (trusted_secret(cluster), TRUSTED))
    sources = [
        {"secret": {"name": name, "items": [{"key": key, "path": key}]}} for name, key in held
    ]
    volume = {"name": "tls", "projected": {"sources": sources, "defaultMode": 0o440}}
    return [volume], [{"name": "tls", "mountPath": STORES, "readOnly": True}]

"""A KafkaCluster's children: configuration, headless Service, brokers and their budget. Pure.

Brokers run KRaft in combined mode with static voters.
"""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.api.listening import BROKER_PORT, CONTROLLER_PORT, PEERS_PORT
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.ports import Manifest
from trimtab.settings import OperatorSettings
from trimtab.workloads import network
from trimtab.workloads.common import KAFKA_LABEL, child
from trimtab.workloads.kafka import brokers, listeners, names
from trimtab.workloads.kafka.material import Material

CLOSEST_REPLICA = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""Directs a consumer that sends its rack to the replica in that rack."""


def children(
    parent: Manifest, spec: KafkaClusterSpec, config: OperatorSettings,
    live: Manifest | None = None, material: Material | None = None,
) -> list[Manifest]:  # fmt: skip
    """Every child except Secrets and the topics Job, in the order in which they are applied.

    `live` is the StatefulSet that there is, `material` what the Secrets hold.
    """
    properties = server_properties(parent, spec)
    name = parent["metadata"]["name"]
    data = {"data": {"server.properties": properties}}
    if peer := listeners.peer(spec):
        data["data"][names.PEER_CONFIG] = _lines(peer)
    config_map = child(parent, "ConfigMap", names.config_name(name), {KAFKA_LABEL: name}, data)
    return [
        config_map,
        _service(parent, spec),
        *network.broker_policies(parent, config, secured=spec.security is not None),
        *brokers.disruption_budget(parent, spec),
        brokers.stateful_set(parent, spec, config, properties, live, material=material),
    ]


def server_properties(parent: Manifest, spec: KafkaClusterSpec) -> str:
    """The brokers' configuration; what differs between pods is in their environment."""
    name, namespace = parent["metadata"]["name"], parent["metadata"]["namespace"]
    voters = ",".join(
        f"{i}@{names.address(name, namespace, i)}:{CONTROLLER_PORT}" for i in range(spec.replicas)
    )
    copies = names.copies(spec)
    lines = {
        "process.roles": "broker,controller",
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        **listeners.properties(spec),
        "log.dirs": f"{brokers.DATA}/data",
        "auto.create.topics.enable": "false",
        "default.replication.factor": copies,
        "min.insync.replicas": max(1, copies - 1),
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": max(1, copies - 1),
        "group.initial.rebalance.delay.ms": 0,
        "offsets.topic.num.partitions": 8,
        "replica.selector.class": CLOSEST_REPLICA,
        # A follower learns the high watermark with its next fetch. Without new records, consumers
        # of that follower see a record that much later: 0.5 s with Kafka's 500 ms, instead of 0 s.
        "replica.fetch.wait.max.ms": 100,
    }
    return _lines(lines)


def _lines(properties: Mapping[str, object]) -> str:
    return "".join(f"{key}={value}\n" for key, value in properties.items())


def _service(parent: Manifest, spec: KafkaClusterSpec) -> Manifest:
    name = parent["metadata"]["name"]
    body = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,  # brokers must find each other before they are ready
        "selector": names.labels(name, brokers.COMPONENT),
        "ports": [
            {"name": "client", "port": BROKER_PORT},
            {"name": "controller", "port": CONTROLLER_PORT},
            *([{"name": "peers", "port": PEERS_PORT}] if spec.security else ()),
        ],
    }
    labels = {KAFKA_LABEL: name}
    return child(parent, "Service", names.brokers_name(name), labels, {"spec": body})

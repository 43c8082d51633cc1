"""A KafkaCluster's children: configuration, headless Service, brokers and their budget. Pure.

Brokers run KRaft in combined mode with static voters.
"""

from __future__ import annotations

from trimtab.api.listening import BROKER_PORT, CONTROLLER_PORT
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.ports import Manifest
from trimtab.settings import OperatorSettings
from trimtab.workloads import network
from trimtab.workloads.common import KAFKA_LABEL, child
from trimtab.workloads.kafka import brokers, names

CLOSEST_REPLICA = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""Directs a consumer that sends its rack to the replica in that rack."""


def children(
    parent: Manifest, spec: KafkaClusterSpec, config: OperatorSettings, live: Manifest | None = None
) -> list[Manifest]:
    """Every child except the topics Job, in the order in which they are applied.

    `live` is the StatefulSet that there is.
    """
    properties = server_properties(parent, spec)
    name = parent["metadata"]["name"]
    data = {"data": {"server.properties": properties}}
    config_map = child(parent, "ConfigMap", names.config_name(name), {KAFKA_LABEL: name}, data)
    return [
        config_map,
        _service(parent),
        *network.broker_policies(parent, config),
        *brokers.disruption_budget(parent, spec),
        brokers.stateful_set(parent, spec, config, properties, live),
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
        "listeners": f"CLIENT://:{BROKER_PORT},CONTROLLER://:{CONTROLLER_PORT}",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "CLIENT",
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
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def _service(parent: Manifest) -> Manifest:
    name = parent["metadata"]["name"]
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,  # brokers must find each other before they are ready
        "selector": names.labels(name, brokers.COMPONENT),
        "ports": [
            {"name": "client", "port": BROKER_PORT},
            {"name": "controller", "port": CONTROLLER_PORT},
        ],
    }
    labels = {KAFKA_LABEL: name}
    return child(parent, "Service", names.brokers_name(name), labels, {"spec": spec})

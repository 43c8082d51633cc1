"""A KafkaCluster's children: configuration, headless Service, StatefulSet, topics Job.

Brokers run KRaft in combined mode with static voters. The cluster id is derived from namespace and
name, so that a cluster that is deleted and created again can use its old volumes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping

from trimtab.api import placement
from trimtab.api.listening import BROKER_PORT, CONTROLLER_PORT
from trimtab.api.memory import BROKER_HEAP_SHARE
from trimtab.api.quantities import format_quantity
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.ports import Manifest
from trimtab.settings import OperatorSettings
from trimtab.workloads import network, pods
from trimtab.workloads.common import (
    COMPONENT_LABEL,
    CONTAINER_SECURITY,
    INPUTS_ANNOTATION,
    KAFKA_LABEL,
    MANAGED_BY,
    POD_SECURITY,
    SCRATCH_REQUEST,
    child,
    digest,
    resources,
    scratch,
)

DATA = "/var/lib/kafka"
CLOSEST_REPLICA = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""Directs a consumer that sends its rack to the replica in that rack."""


def service_name(cluster: str) -> str:
    """The headless Service of a cluster."""
    return f"{cluster}-kafka"


def bootstrap_servers(cluster: str, namespace: str, replicas: int) -> str:
    """host:port of every broker, by their stable names."""
    service = service_name(cluster)
    hosts = (f"{service}-{i}.{service}.{namespace}.svc" for i in range(replicas))
    return ",".join(f"{host}:{BROKER_PORT}" for host in hosts)


def cluster_id(namespace: str, name: str) -> str:
    """22 URL-safe characters that depend only on namespace and name."""
    raw = hashlib.sha256(f"{namespace}/{name}".encode()).digest()[:16]
    text = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    return f"t{text[1:]}"  # Kafka's tools refuse an id that begins with a dash


def children(parent: Manifest, spec: KafkaClusterSpec, config: OperatorSettings) -> list[Manifest]:
    """Every child except the topics Job, in the order in which they are applied."""
    properties = server_properties(parent, spec)
    name, labels = parent["metadata"]["name"], _labels(parent)
    data = {"data": {"server.properties": properties}}
    config_map = child(parent, "ConfigMap", f"{name}-kafka", labels, data)
    policies = network.broker_policies(parent, config)
    stateful_set = _stateful_set(parent, spec, config, properties)
    return [config_map, _service(parent), *policies, stateful_set]


def server_properties(parent: Manifest, spec: KafkaClusterSpec) -> str:
    """The brokers' configuration; what differs between pods is in their environment."""
    name, namespace = parent["metadata"]["name"], parent["metadata"]["namespace"]
    service = service_name(name)
    voters = ",".join(
        f"{i}@{service}-{i}.{service}.{namespace}.svc:{CONTROLLER_PORT}"
        for i in range(spec.replicas)
    )
    copies = min(3, spec.replicas)
    lines = {
        "process.roles": "broker,controller",
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"CLIENT://:{BROKER_PORT},CONTROLLER://:{CONTROLLER_PORT}",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "CLIENT",
        "log.dirs": f"{DATA}/data",
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


def raised(spec: KafkaClusterSpec, partitions: Mapping[str, int]) -> KafkaClusterSpec:
    """The spec with at least these partitions by topic; ignores topics that it does not list."""
    topics = [
        topic.model_copy(
            update={"partitions": max(topic.partitions, partitions.get(topic.name, 0))}
        )
        for topic in spec.topics
    ]
    return spec.model_copy(update={"topics": topics})


def topics_job(parent: Manifest, spec: KafkaClusterSpec, config: OperatorSettings) -> Manifest:
    """The Job that creates the topics and adds partitions; its name is a hash of its work."""
    name, namespace = parent["metadata"]["name"], parent["metadata"]["namespace"]
    wanted = [
        f"{t.name}:{t.partitions}:{t.retention_ms or ''}:{min(3, spec.replicas)}"
        for t in sorted(spec.topics, key=lambda t: t.name)
    ]
    labels = _labels(parent) | {COMPONENT_LABEL: "kafka-topics"}
    container = {
        "name": "topics",
        "image": spec.image or config.kafka_image,
        "args": ["topics", bootstrap_servers(name, namespace, spec.replicas), *wanted],
        "securityContext": CONTAINER_SECURITY,
        "resources": {
            "requests": {"cpu": "50m", "memory": "256Mi", "ephemeral-storage": SCRATCH_REQUEST},
            "limits": {"memory": "512Mi"},
        },
        "volumeMounts": scratch("tmp")[1],
    }
    template = {
        "metadata": {"labels": MANAGED_BY | labels},
        "spec": {
            "restartPolicy": "OnFailure",
            "securityContext": POD_SECURITY,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "containers": [container],
            "volumes": scratch("tmp")[0],
        },
    }
    template = pods.shaped(template, pods.pod_template(spec.pod_template, config))
    body = {"spec": {"backoffLimit": 20, "template": template}}
    return child(parent, "Job", f"{name}-topics-{digest(wanted)}", labels, body)


def _labels(parent: Manifest) -> dict[str, str]:
    return {KAFKA_LABEL: parent["metadata"]["name"]}


def _service(parent: Manifest) -> Manifest:
    name, labels = parent["metadata"]["name"], _labels(parent)
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,  # voters must find each other before they are ready
        "selector": labels | {COMPONENT_LABEL: "kafka"},
        "ports": [
            {"name": "client", "port": BROKER_PORT},
            {"name": "controller", "port": CONTROLLER_PORT},
        ],
    }
    return child(parent, "Service", service_name(name), labels, {"spec": spec})


def _stateful_set(
    parent: Manifest, spec: KafkaClusterSpec, config: OperatorSettings, properties: str
) -> Manifest:
    name = parent["metadata"]["name"]
    service = service_name(name)
    labels = _labels(parent) | {COMPONENT_LABEL: "kafka"}
    policy = {"whenDeleted": spec.deletion_policy, "whenScaled": "Retain"}
    claim = {
        "metadata": {"name": "data", "labels": MANAGED_BY | labels},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": format_quantity(spec.storage.size)}},
        },
    }
    if spec.storage.storage_class_name:
        claim["spec"]["storageClassName"] = spec.storage.storage_class_name
    template = {
        "metadata": {
            "labels": MANAGED_BY | labels,
            "annotations": {INPUTS_ANNOTATION: digest(properties)},
        },
        "spec": {
            "securityContext": POD_SECURITY,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 60,
            "topologySpreadConstraints": _spread(labels),
            "containers": [_broker(parent, spec, config)],
            "volumes": [
                *scratch("tmp")[0],
                {"name": "config", "configMap": {"name": f"{name}-kafka"}},
            ],
        },
    }
    body = {
        "serviceName": service,
        "replicas": spec.replicas,
        "podManagementPolicy": "Parallel",
        "persistentVolumeClaimRetentionPolicy": policy,
        "selector": {"matchLabels": labels},
        "volumeClaimTemplates": [claim],
        "template": pods.shaped(template, pods.pod_template(spec.pod_template, config)),
    }
    return child(parent, "StatefulSet", service, labels, {"spec": body})


def _spread(labels: dict[str, str]) -> list[Manifest]:
    """One broker per zone and node if there are enough of them; otherwise they start anyway."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": labels},
        }
        for key in (placement.ZONE_LABEL, placement.HOST_LABEL)
    ]


def _broker(parent: Manifest, spec: KafkaClusterSpec, config: OperatorSettings) -> Manifest:
    name, namespace = parent["metadata"]["name"], parent["metadata"]["namespace"]
    service = service_name(name)
    heap_mib = int(spec.resources.memory * BROKER_HEAP_SHARE) >> 20
    index = "metadata.labels['apps.kubernetes.io/pod-index']"
    host = f"{service}-$(POD_INDEX).{service}.{namespace}.svc"
    probe = {"tcpSocket": {"port": "client"}, "periodSeconds": 5, "timeoutSeconds": 3}
    return {
        "name": "kafka",
        "image": spec.image or config.kafka_image,
        "args": ["run"],
        "env": [
            placement.variable("POD_INDEX", index),
            *placement.variables(),
            {"name": "KAFKA_CLUSTER_ID", "value": cluster_id(namespace, name)},
            {"name": "KAFKA_HEAP_OPTS", "value": f"-Xms{heap_mib}m -Xmx{heap_mib}m"},
            {
                "name": "KAFKA_OVERRIDES",
                "value": f"node.id=$(POD_INDEX) advertised.listeners=CLIENT://{host}:{BROKER_PORT}"
                f" broker.rack=$({placement.ZONE_VARIABLE})",
            },
        ],
        "ports": [
            {"name": "client", "containerPort": BROKER_PORT},
            {"name": "controller", "containerPort": CONTROLLER_PORT},
        ],
        "startupProbe": probe | {"failureThreshold": 60, "periodSeconds": 2},
        "readinessProbe": probe,
        "livenessProbe": probe | {"periodSeconds": 10, "failureThreshold": 6},
        "securityContext": CONTAINER_SECURITY,
        "resources": resources(spec.resources.cpu_request, spec.resources.memory),
        "volumeMounts": [
            *scratch("tmp")[1],
            {"name": "data", "mountPath": DATA},
            {"name": "config", "mountPath": "/etc/kafka"},
        ],
    }

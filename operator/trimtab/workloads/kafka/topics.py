"""The Job that makes a KafkaCluster's topics. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.api.v1alpha1.kafka import KafkaClusterSpec, TopicSpec
from trimtab.api.v1alpha1.kafka_security import PASSWORD, user_secret
from trimtab.ports import Manifest
from trimtab.settings import OperatorSettings
from trimtab.workloads import pods
from trimtab.workloads.common import (
    CONTAINER_SECURITY,
    MANAGED_BY,
    SCRATCH_REQUEST,
    child,
    digest,
    pod_security,
    scratch,
)
from trimtab.workloads.kafka import listeners, names
from trimtab.workloads.kafka.material import Material

COMPONENT = "kafka-topics"
CONFIG, USERS = "/etc/kafka", "/etc/kafka-users"
"""Where the Job finds its client's configuration, and a file for each user."""
ATTEMPTS = 6
"""Pods that may fail before the Job does: about ten minutes."""


def raised(spec: KafkaClusterSpec, partitions: Mapping[str, int]) -> KafkaClusterSpec:
    """The spec with at least these partitions by topic; ignores topics that it does not list."""
    topics = [
        topic.model_copy(
            update={"partitions": max(topic.partitions, partitions.get(topic.name, 0))}
        )
        for topic in spec.topics
    ]
    return spec.model_copy(update={"topics": topics})


def topics_job(
    parent: Manifest, spec: KafkaClusterSpec, config: OperatorSettings,
    material: Material | None = None,
) -> Manifest:  # fmt: skip
    """The Job that makes the topics and users as the spec says; its name is a hash of its work.

    Pods that fail stay, and so do their logs.
    """
    meta = parent["metadata"]
    listed = sorted(spec.topics, key=lambda topic: topic.name)
    wanted = [_words(topic, names.copies(spec)) for topic in listed]
    labels = names.labels(meta["name"], COMPONENT)
    tmp, mounts = scratch("tmp")
    stores, stores_mounts = listeners.stores(parent, spec)
    logins, logins_mounts, env = _secured(meta["name"], spec)
    container = {
        "name": "topics",
        "image": spec.image or config.kafka_image,
        "args": ["topics", listeners.peer_servers(parent, spec), *wanted],
        **({"env": env} if env else {}),
        "securityContext": CONTAINER_SECURITY,
        "resources": {
            "requests": {"cpu": "50m", "memory": "256Mi", "ephemeral-storage": SCRATCH_REQUEST},
            "limits": {"memory": "512Mi"},
        },
        "volumeMounts": [*mounts, *stores_mounts, *logins_mounts],
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    template = {
        "metadata": {"labels": MANAGED_BY | labels},
        "spec": {
            "restartPolicy": "Never",
            "securityContext": pod_security(config.pod_user),
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "containers": [container],
            "volumes": [*tmp, *stores, *logins],
        },
    }
    template = pods.shaped(template, pods.pod_template(spec.pod_template, config))
    body = {"spec": {"backoffLimit": ATTEMPTS, "template": template}}
    work = digest([wanted, material.users]) if material else digest(wanted)
    return child(parent, "Job", f"{meta['name']}-topics-{work}", labels, body)


def _secured(
    cluster: str, spec: KafkaClusterSpec
) -> tuple[list[Manifest], list[Manifest], list[Manifest]]:
    """Volumes, mounts and variables with which the Job reaches secured brokers, and makes users."""
    if spec.security is None:
        return [], [], []
    items = [{"key": names.PEER_CONFIG, "path": names.PEER_CONFIG}]
    config_map = {"name": names.config_name(cluster), "items": items}
    volumes: list[Manifest] = [{"name": "config", "configMap": config_map}]
    mounts = [{"name": "config", "mountPath": CONFIG}]
    env = [{"name": "KAFKA_CLIENT_CONFIG", "value": f"{CONFIG}/{names.PEER_CONFIG}"}]
    if spec.security.logins:
        users = [_login(cluster, user) for user in spec.security.logins]
        volumes.append({"name": "users", "projected": {"sources": users, "defaultMode": 0o440}})
        mounts.append({"name": "users", "mountPath": USERS})
        env.append({"name": "KAFKA_USERS", "value": USERS})
    return volumes, mounts, env


def _login(cluster: str, user: str) -> Manifest:
    """A file of the user's name that holds the password."""
    items = [{"key": PASSWORD, "path": user}]
    return {"secret": {"name": user_secret(cluster, user), "items": items}}


def made_by(job: Manifest) -> tuple[str, ...]:
    """The topics that a Job makes."""
    (container, *_) = job["spec"]["template"]["spec"]["containers"]
    return tuple(wanted.partition(":")[0] for wanted in container["args"][2:])


def _words(topic: TopicSpec, replication: int) -> str:
    """A topic as images/kafka/topics reads it.

    What is not set leaves nothing behind: else the Jobs of older operators would all run again.
    """
    words = f"{topic.name}:{topic.partitions}:{topic.retention_ms or ''}:{replication}"
    return words if topic.retention_bytes is None else f"{words}:{topic.retention_bytes}"

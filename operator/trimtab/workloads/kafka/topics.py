"""The Job that makes a KafkaCluster's topics. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.api.v1alpha1.kafka import KafkaClusterSpec, TopicSpec
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
from trimtab.workloads.kafka import names

COMPONENT = "kafka-topics"
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


def topics_job(parent: Manifest, spec: KafkaClusterSpec, config: OperatorSettings) -> Manifest:
    """The Job that makes the topics as the spec says; its name is a hash of its work.

    Pods that fail stay, and so do their logs.
    """
    meta = parent["metadata"]
    listed = sorted(spec.topics, key=lambda topic: topic.name)
    wanted = [_words(topic, names.copies(spec)) for topic in listed]
    labels = names.labels(meta["name"], COMPONENT)
    servers = names.bootstrap_servers(meta["name"], meta["namespace"], spec.replicas)
    container = {
        "name": "topics",
        "image": spec.image or config.kafka_image,
        "args": ["topics", servers, *wanted],
        "securityContext": CONTAINER_SECURITY,
        "resources": {
            "requests": {"cpu": "50m", "memory": "256Mi", "ephemeral-storage": SCRATCH_REQUEST},
            "limits": {"memory": "512Mi"},
        },
        "volumeMounts": scratch("tmp")[1],
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
            "volumes": scratch("tmp")[0],
        },
    }
    template = pods.shaped(template, pods.pod_template(spec.pod_template, config))
    body = {"spec": {"backoffLimit": ATTEMPTS, "template": template}}
    return child(parent, "Job", f"{meta['name']}-topics-{digest(wanted)}", labels, body)


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

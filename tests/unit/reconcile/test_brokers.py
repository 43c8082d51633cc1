"""What keeps a broker down is told in words."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.reconcile.brokers import Kafka
from tests.unit.workloads.manifests import Json

SPREAD = "0/3 nodes are available: 3 node(s) didn't match pod topology spread constraints."


def container(restarts: int = 0, **state: Any) -> Json:
    found = {"name": "kafka", "image": "kafka:1", "started": False, "restartCount": restarts}
    return {"containerStatuses": [found | state]}


def ended(message: str, reason: str = "Error", code: int = 1) -> Json:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


def unplaced(message: str) -> Json:
    return {"conditions": [{"type": "PodScheduled", "status": "False", "message": message}]}


@pytest.mark.parametrize(
    ("status", "reason", "words"),
    [
        (unplaced("0/1 nodes: Insufficient memory."), "Unschedulable", "Insufficient memory"),
        (unplaced(SPREAD), "Unschedulable", "spread: Preferred in the spec lets it share a node"),
        (
            container(state={"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}),
            "ImageCannotStart", "kafka:1: not found",
        ),
        (
            container(state={"waiting": {"reason": "CreateContainerConfigError"}}),
            "BrokerCannotStart", "CreateContainerConfigError",
        ),
        (
            container(1, lastState=ended("DiskFull: 12 KiB are free on the volume\n")),
            "DiskFull", "raise spec.storage.size, or make room by hand",
        ),
        (
            container(1, state=ended("java.io.IOException: No space left on device\nShutdown")),
            "DiskFull", "the volume of events-kafka-1 is full",
        ),
        (container(2, lastState=ended("", "OOMKilled", 137)), "BrokerFailed", "resources.memory"),
        (
            container(2, lastState=ended("stack\nbad config")),
            "BrokerFailed", "exit code 1: bad config",
        ),
    ],
)  # fmt: skip
def test_what_keeps_a_broker_down(status: Json, reason: str, words: str) -> None:
    kafka = Kafka.running()
    pod = kafka.pod(1)
    assert pod
    kafka.cluster.put(pod | {"status": status})
    kafka.tick()
    assert kafka.condition("Stalled")[:2] == ("True", reason)
    assert words in kafka.condition("Stalled")[2]
    assert kafka.condition("Ready") == ("False", *kafka.condition("Stalled")[1:])
    kafka.report(1)
    kafka.tick()
    assert kafka.condition("Ready")[0] == "True"
    assert kafka.condition("Stalled")[0] == "False"


@pytest.mark.parametrize(
    "status", [container(), container(1, lastState=ended("connection lost")), {}]
)
def test_a_start_and_a_first_failure_are_not_yet_trouble(status: Json) -> None:
    kafka = Kafka.running()
    pod = kafka.pod(1)
    assert pod
    kafka.cluster.put(pod | {"status": status})
    kafka.tick()
    assert kafka.condition("Stalled")[0] == "False"
    assert kafka.condition("Reconciling")[:2] == ("True", "BrokersStarting")
    words = "2 of 3 brokers are ready; starting: events-kafka-1"
    assert kafka.condition("Ready") == ("False", "BrokersStarting", words)


def test_a_broker_that_goes_is_not_counted_and_one_without_a_pod_is_said() -> None:
    kafka = Kafka.running()
    pod = kafka.pod(0)
    assert pod
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    kafka.cluster.put(pod)
    kafka.tick()
    assert kafka.status["readyReplicas"] == 2
    del kafka.cluster.objects[kafka.key(0)]
    kafka.tick()
    assert kafka.condition("Ready")[2] == "2 of 3 brokers are ready; without a pod: 1"


def test_a_pod_that_only_has_a_brokers_name_is_no_broker() -> None:
    kafka = Kafka.running()
    pod = kafka.pod(0)
    assert pod
    pod["metadata"]["ownerReferences"] = []
    kafka.cluster.put(pod)
    kafka.tick()
    assert kafka.status["readyReplicas"] == 2

"""A KafkaCluster against a real API server: what it refuses, and what it lets grow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.apiserver.test_loop import Stage
from tests.unit.workloads.manifests import kafka_children

from trimtab.adapters.kubernetes import KubernetesCluster
from trimtab.workloads.common import HASH_ANNOTATION, MANAGED_BY
from trimtab.workloads.kafka.names import labels

pytestmark = pytest.mark.apiserver


@pytest.fixture
def stage(kubectl: Any, kubeconfig: Path, namespace: str) -> Stage:
    made = Stage(kubectl, kubeconfig, namespace)
    made.tick(2)
    made.kafka_runs()
    return made


def condition(stage: Stage, type_: str) -> dict[str, Any]:
    found = stage.get("tkc", "events")["status"]["conditions"]
    return next(c for c in found if c["type"] == type_)


def bind(stage: Stage, *, grows: bool) -> None:
    """The claim of the broker, bound, of a class that can grow or not."""
    name = f"{stage.namespace}-{grows}".lower()
    stage.apply(
        {
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": "example.com/none", "allowVolumeExpansion": grows,
        }
    )  # fmt: skip
    meta = {"name": "data-events-kafka-0", "labels": MANAGED_BY | labels("events", "kafka")}
    stage.apply(
        {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta,
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": name, "volumeName": "pv",
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
    )  # fmt: skip
    status = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    stage.kubectl(
        "patch", "pvc", meta["name"], "-n", stage.namespace, "--subresource=status",
        "--type=merge", "-p", json.dumps({"status": status}),
    )  # fmt: skip


def edit(stage: Stage, spec: dict[str, Any]) -> None:
    stage.kubectl(
        "patch", "tkc", "events", "-n", stage.namespace, "--type=merge",
        "-p", json.dumps({"spec": spec}),
    )  # fmt: skip
    stage.tick(2)


def test_a_volume_grows_and_later_edits_are_not_blocked(stage: Stage) -> None:
    bind(stage, grows=True)
    edit(stage, {"storage": {"size": "2Gi"}})
    claim = stage.get("pvc", "data-events-kafka-0")
    assert claim["spec"]["resources"]["requests"]["storage"] == "2Gi"
    assert condition(stage, "Reconciling")["reason"] == "StorageGrowing"
    stage.tick()
    assert stage.telemetry.ticks[-1]["writes"] == 0
    edit(stage, {"resources": {"memory": "2Gi"}})
    assert condition(stage, "Stalled")["status"] == "False"
    pod = stage.get("statefulset", "events-kafka")["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"]["memory"] == "2Gi"


def test_a_volume_that_cannot_grow_is_said(stage: Stage) -> None:
    bind(stage, grows=False)
    edit(stage, {"storage": {"size": "2Gi"}})
    stalled = condition(stage, "Stalled")
    assert stalled["reason"] == "StorageNotGrown"
    assert "must support resize" in stalled["message"]
    edit(stage, {"storage": {"size": "1Gi"}})
    assert condition(stage, "Stalled")["status"] == "False"


def test_an_edit_replaces_the_broker_once_its_template_is_seen(stage: Stage) -> None:
    before = stage.get("pod", "events-kafka-0")["metadata"]["uid"]
    edit(stage, {"resources": {"memory": "2Gi"}})
    assert stage.get("pod", "events-kafka-0")["metadata"]["uid"] == before
    revision = stage.brokers_seen()
    stage.tick()
    gone = stage.kubectl("get", "pod", "events-kafka-0", "-n", stage.namespace, check=False)
    assert gone.returncode != 0
    stage.pod_runs("events-kafka-0", revision)
    stage.tick(2)
    assert condition(stage, "Ready")["status"] == "True"
    assert stage.get("pod", "events-kafka-0")["metadata"]["uid"] != before


def test_an_upgrade_replaces_a_broker_only_with_consent(stage: Stage) -> None:
    before = stage.get("pod", "events-kafka-0")["metadata"]["uid"]
    stage.start_operator(kafka_image="kafka:2")
    stage.tick()
    revision = stage.brokers_seen()
    stage.tick(2)
    waits = condition(stage, "UpdateAvailable")
    assert (waits["status"], waits["reason"]) == ("True", "WaitsForConsent")
    assert condition(stage, "Ready")["status"] == "True"
    assert stage.get("pod", "events-kafka-0")["metadata"]["uid"] == before
    assert f"trimtab.dev/roll={revision}" in waits["message"]
    stage.kubectl(
        "annotate", "tkc", "events", "-n", stage.namespace, f"trimtab.dev/roll={revision}"
    )
    stage.tick()
    gone = stage.kubectl("get", "pod", "events-kafka-0", "-n", stage.namespace, check=False)
    assert gone.returncode != 0


def test_brokers_of_an_older_operator_are_taken_over(
    kubectl: Any, kubeconfig: Path, namespace: str
) -> None:
    """It left their replacing to Kubernetes, whose settings an apply would keep and be refused."""
    made = Stage(kubectl, kubeconfig, namespace)
    parent = made.get("tkc", "events")
    (older,) = (each for each in kafka_children(parent) if each["kind"] == "StatefulSet")
    del older["spec"]["updateStrategy"]
    older["spec"]["template"]["spec"]["containers"][0]["image"] = "kafka:0"
    older["metadata"]["annotations"][HASH_ANNOTATION] = "older"
    stored = KubernetesCluster((namespace,), made.clock, str(kubeconfig)).apply(older)
    assert stored["spec"]["updateStrategy"]["type"] == "RollingUpdate"
    made.tick(2)
    spec = made.get("statefulset", "events-kafka")["spec"]
    assert spec["updateStrategy"] == {"type": "OnDelete"}
    assert spec["template"]["spec"]["containers"][0]["image"] == "kafka:1"
    assert condition(made, "Ready")["reason"] == "BrokersStarting"
    made.tick()
    assert made.telemetry.ticks[-1]["writes"] == 0


def test_three_brokers_have_a_budget(kubectl: Any, kubeconfig: Path, namespace: str) -> None:
    made = Stage(kubectl, kubeconfig, namespace)
    made.kubectl("delete", "tkc", "events", "-n", namespace)
    kafka = {
        "apiVersion": "trimtab.dev/v1alpha1", "kind": "KafkaCluster",
        "metadata": {"name": "events"}, "spec": {"replicas": 3},
    }  # fmt: skip
    made.apply(kafka)
    made.tick(2)
    assert made.get("pdb", "events-kafka")["spec"]["maxUnavailable"] == 1
    made.tick()
    assert made.telemetry.ticks[-1]["writes"] == 0


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"topics": [{"name": "clicks", "partitions": 1}]}, "Kafka cannot remove partitions"),
        ({"topics": [{"name": "clicks"}]}, "Kafka cannot remove partitions"),
        (
            {"topics": [{"name": "clicks", "partitions": 6}]},
            "without retentionMs the topic would keep what it has",
        ),
        (
            {"topics": [{"name": "clicks", "partitions": 6, "retentionMs": 60000}]},
            "without retentionBytes the topic would keep what it has",
        ),
        ({"storage": {"storageClassName": "other"}}, "storageClassName cannot change"),
        ({"storage": {"storageClassName": None}}, "storageClassName cannot change"),
        ({"storage": None}, "storageClassName cannot change"),
    ],
)
def test_an_edit_that_cannot_act_is_refused(
    kubectl: Any, namespace: str, kafka: dict[str, Any], spec: dict[str, Any], words: str
) -> None:
    topic = {"name": "clicks", "partitions": 6, "retentionMs": 60000, "retentionBytes": 1 << 20}
    kafka["spec"] |= {"topics": [topic], "storage": {"size": "1Gi", "storageClassName": "slow"}}
    kubectl("apply", "-n", namespace, "-f", "-", manifest=kafka)
    patch = ("patch", "tkc", "events", "-n", namespace, "--type=merge", "-p")
    done = kubectl(*patch, json.dumps({"spec": spec}), check=False)
    assert words in done.stderr


def test_a_topic_may_be_removed_and_come_back_with_less(
    kubectl: Any, namespace: str, kafka: dict[str, Any]
) -> None:
    kubectl("apply", "-n", namespace, "-f", "-", manifest=kafka)
    for topics in ([], [{"name": "clicks", "partitions": 1}]):
        kafka["spec"]["topics"] = topics
        kubectl("apply", "-n", namespace, "-f", "-", manifest=kafka)

"""Pipelines on a Kafka of Strimzi, with its real CRDs; the tests play its operators."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from dev.strimzi import MODELS, crds
from tests import strimzi
from tests.apiserver.conftest import Kubectl, established
from tests.apiserver.test_loop import Stage

pytestmark = pytest.mark.apiserver

Json = dict[str, Any]

NAMES = [f"{kind.lower()}s.kafka.strimzi.io" for kind in MODELS]


@pytest.fixture
def without_strimzi(kubectl: Kubectl) -> Iterator[None]:
    forget = ("delete", "crd", "--ignore-not-found", *NAMES)
    kubectl(*forget)
    yield
    kubectl(*forget)


def install(kubectl: Kubectl) -> None:
    """As Strimzi's chart does."""
    for kind in MODELS:
        kubectl("apply", "--server-side", "-f", str(crds() / f"{kind}.yaml"))
    established(kubectl, "crd", *NAMES)


def put(kubectl: Kubectl, manifest: Json) -> None:
    """As people and Strimzi's operators do: the object, and what becomes of it."""
    where = ("-n", manifest["metadata"]["namespace"])
    kubectl("apply", "--server-side", "--validate=strict", *where, "-f", "-", manifest=manifest)
    if "status" in manifest:
        kubectl(
            "patch", manifest["kind"], manifest["metadata"]["name"], *where, "--type=merge",
            "--subresource=status", "-p", json.dumps({"status": manifest["status"]}),
        )  # fmt: skip


@pytest.fixture
def stage(without_strimzi: None, kubectl: Kubectl, kubeconfig: Any, namespace: str) -> Stage:
    made = Stage(kubectl, kubeconfig, namespace)
    meta = {"name": "clicks", "namespace": namespace}
    kubectl("replace", "-f", "-", manifest=moved(made.get("spl", "clicks")) | {"metadata": meta})
    return made


def moved(pipeline: Json) -> Json:
    """The pipeline with source and sink on a Kafka of Strimzi."""
    kafka = {"strimzi": {"name": "events", "listener": "scram", "user": "clicks"}}
    spec = pipeline["spec"] | {
        "source": {"kafka": kafka | {"topics": ["clicks"]}},
        "sink": {"kafka": kafka | {"topic": "clicks-out"}},
        "limits": {"executors": {"min": 1, "max": 8}, "topicPartitions": 24},
    }
    return pipeline | {"spec": spec}


def wish(kubectl: Kubectl, pipeline: Json, partitions: int) -> None:
    """The pipeline's memory has it that so many are asked for."""
    meta, controller = pipeline["metadata"], pipeline["status"]["controller"]
    controller["settings"]["topic_partitions"] = partitions
    kubectl(
        "patch", "spl", meta["name"], "-n", meta["namespace"], "--subresource=status",
        "--type=merge", "-p", json.dumps({"status": {"controller": controller}}),
    )  # fmt: skip


def test_a_pipeline_moves_onto_a_kafka_of_strimzi(stage: Stage) -> None:
    stage.tick()
    assert stage.condition("Stalled")["reason"] == "StrimziNotFound"
    assert "are the CRDs installed?" in stage.condition("Stalled")["message"]
    install(stage.kubectl)
    stage.tick()
    assert "there is no Kafka 'events'" in stage.condition("Stalled")["message"]
    put(stage.kubectl, strimzi.kafka(stage.namespace))
    untold = strimzi.user("scram-sha-512", namespace=stage.namespace)
    put(stage.kubectl, {k: v for k, v in untold.items() if k != "status"})
    stage.tick()
    assert stage.condition("Stalled")["reason"] == "StrimziNotReady"
    put(stage.kubectl, untold)
    put(stage.kubectl, strimzi.topic("clicks", 12, stage.namespace))
    for _ in range(4):
        stage.tick()
    assert stage.condition("Stalled")["status"] == "False"
    job = json.loads(stage.get("configmap", "clicks-job")["data"]["job.json"])
    for end in ("source", "sink"):
        assert job[end]["bootstrapServers"] == strimzi.address("scram")
        assert job[end]["authentication"]["username"] == "clicks"
    pod = stage.get("statefulset", "clicks-driver")["spec"]["template"]["spec"]
    mounted = {v["secret"]["secretName"] for v in pod["volumes"] if "secret" in v}
    assert mounted == {"clicks-login", "events-cluster-ca-cert"}
    wish(stage.kubectl, stage.get("spl", "clicks"), 24)
    for _ in range(2):
        stage.tick()
    raised = stage.get("kafkatopic", "clicks")
    assert raised["spec"] == {"partitions": 24}
    stage.tick()
    assert stage.get("kafkatopic", "clicks")["metadata"] == raised["metadata"], "only once"

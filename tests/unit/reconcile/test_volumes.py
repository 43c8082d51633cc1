"""The brokers' volumes grow, or the status says why they do not."""

from __future__ import annotations

from typing import Any

from tests.unit.reconcile.brokers import SET, Kafka
from tests.unit.reconcile.stage import NAMESPACE
from tests.unit.workloads.manifests import Json

from trimtab.workloads.common import MANAGED_BY
from trimtab.workloads.kafka.names import labels

CLASS = "only dynamically provisioned pvc can be resized"


def claim(ordinal: int, size: str = "1Gi", **status: Any) -> Json:
    meta = {
        "name": f"data-events-kafka-{ordinal}", "namespace": NAMESPACE,
        "labels": MANAGED_BY | labels("events", "kafka"),
    }  # fmt: skip
    return {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta,
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
        "status": {"capacity": {"storage": size}} | status,
    }  # fmt: skip


def running(size: str = "1Gi", **spec: Any) -> Kafka:
    kafka = Kafka.running(**spec)
    for ordinal in range(3):
        kafka.cluster.put(claim(ordinal, size))
    kafka.tick()
    return kafka


def asked(kafka: Kafka) -> list[str]:
    keys = [("PersistentVolumeClaim", NAMESPACE, f"data-events-kafka-{i}") for i in range(3)]
    found = [kafka.cluster.objects[key]["spec"]["resources"]["requests"] for key in keys]
    return [requests["storage"] for requests in found]


def test_volumes_grow_and_nothing_restarts() -> None:
    kafka = running()
    template = kafka.cluster.objects[SET]["spec"]
    kafka.edit("storage.size", "5Gi")
    assert kafka.tick() == []
    assert asked(kafka) == ["5Gi"] * 3
    assert kafka.cluster.objects[SET]["spec"] == template
    kafka.tick()
    assert kafka.condition("Reconciling")[:2] == ("True", "StorageGrowing")
    assert kafka.condition("Ready")[0] == "True", "the brokers serve meanwhile"
    assert kafka.tick() == []
    assert kafka.cluster.writes == [], "a quiet tick writes nothing"
    for ordinal in range(3):
        kafka.cluster.put(claim(ordinal, "5Gi"))
    kafka.tick()
    assert kafka.condition("Reconciling")[0] == "False"
    kafka.edit("resources.memory", "2Gi")
    kafka.tick()
    kafka.controllers()
    assert kafka.tick() == ["events-kafka-2"], "later edits act too"


def test_what_the_cluster_says_of_the_growth_is_told() -> None:
    kafka = running()
    kafka.edit("storage.size", "2Gi")
    kafka.tick()
    resizing = {"type": "FileSystemResizePending", "message": "waiting for a restart of the pod"}
    waiting = claim(1, "2Gi", capacity={"storage": "1Gi"}, conditions=[resizing])
    kafka.cluster.put(waiting)
    kafka.tick()
    words = kafka.condition("Reconciling")[2]
    assert "data-events-kafka-1 has 1Gi (FileSystemResizePending: waiting for a restart" in words


def test_a_full_broker_that_is_down_gets_its_larger_volume() -> None:
    kafka = running()
    for ordinal in range(3):
        kafka.report(ordinal, started=False, ready=False)
    kafka.edit("storage.size", "2Gi")
    kafka.tick()
    assert asked(kafka) == ["2Gi"] * 3


def test_a_class_that_does_not_grow_is_said_and_the_edit_can_be_undone() -> None:
    kafka = running()
    kafka.refuse("PersistentVolumeClaim", CLASS)
    kafka.edit("storage.size", "2Gi")
    kafka.tick()
    status, reason, words = kafka.condition("Stalled")
    assert (status, reason) == ("True", "StorageNotGrown")
    assert CLASS in words
    assert "allowVolumeExpansion: true" in words
    assert kafka.condition("Ready")[0] == "True", "what runs, runs"
    kafka.edit("storage.size", "1Gi")
    kafka.tick()
    assert kafka.condition("Stalled")[0] == "False"


def test_a_volume_does_not_shrink_and_that_is_said() -> None:
    kafka = running("3Gi", storage={"size": "3Gi"})
    kafka.edit("storage.size", "2Gi")
    kafka.tick()
    status, reason, words = kafka.condition("Stalled")
    assert (status, reason) == ("True", "StorageTooLarge")
    assert "data-events-kafka-0 has 3Gi" in words
    assert asked(kafka) == ["3Gi"] * 3


def test_a_growth_that_is_taken_back_too_late_is_said() -> None:
    kafka = running()
    for ordinal in range(3):
        kafka.cluster.put(claim(ordinal, "5Gi", capacity={"storage": "1Gi"}))
    kafka.tick()
    assert "data-events-kafka-0 has 1Gi and grows to 5Gi" in kafka.condition("Stalled")[2]
    kafka.edit("storage.size", "2Gi")
    kafka.tick()
    assert asked(kafka) == ["2Gi"] * 3, "more than it has, so the cluster may take it"


def test_claims_of_others_and_unbound_ones_are_left_alone() -> None:
    kafka = running()
    foreign, unbound = claim(0), claim(1)
    foreign["metadata"]["labels"]["trimtab.dev/kafka"] = "other"
    del unbound["status"]["capacity"]
    kafka.cluster.put(foreign)
    kafka.cluster.put(unbound)
    kafka.edit("storage.size", "2Gi")
    kafka.tick()
    assert asked(kafka) == ["1Gi", "1Gi", "2Gi"]


def test_a_volume_that_is_larger_than_was_asked_for_is_well() -> None:
    kafka = running()
    for ordinal in range(3):
        kafka.cluster.put(claim(ordinal, "1Gi", capacity={"storage": "10Gi"}))
    kafka.edit("storage.size", "5Gi")
    kafka.tick()
    assert asked(kafka) == ["1Gi"] * 3
    assert kafka.condition("Stalled")[0] == "False"

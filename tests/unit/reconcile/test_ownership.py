"""Objects that are not ours keep what they are, and whoever needs their names is told."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.unit.reconcile.stage import NAMESPACE, PARENT, Stage
from tests.unit.workloads.manifests import Json, changed, example

from trimtab.api.kinds import KINDS
from trimtab.workloads.common import MANAGED_BY, PIPELINE_LABEL

OF_A_PIPELINE = [
    ("ConfigMap", "clicks-tuning"), ("ServiceAccount", "trimtab-driver-clicks"),
    ("ServiceAccount", "trimtab-executor-clicks"), ("Role", "trimtab-driver-clicks"),
    ("RoleBinding", "trimtab-driver-clicks"), ("PersistentVolumeClaim", "clicks-checkpoint"),
    ("StatefulSet", "clicks-driver"),
]  # fmt: skip
OF_A_KAFKA = [("ConfigMap", "k-kafka"), ("Service", "k-kafka"), ("StatefulSet", "k-kafka")]
DEPLOYMENT = {
    "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-web",
    "controller": True,
}  # fmt: skip


def foreign(kind: str, name: str, **meta: Any) -> Json:
    """Somebody's object: of that kind, with some content of its own."""
    body: Json = {"spec": {"replicas": 3}} if kind == "StatefulSet" else {"data": {"key": "mine"}}
    where = {"name": name, "namespace": NAMESPACE}
    api_version = KINDS[kind].api_version
    return {"apiVersion": api_version, "kind": kind, "metadata": where | meta, **body}


def message(stage: Stage, type_: str = "Stalled") -> str:
    (words,) = {c["message"] for c in stage.status()["conditions"] if c["type"] == type_}
    return str(words)


@pytest.mark.parametrize("labels", [{}, MANAGED_BY, {"app.kubernetes.io/managed-by": "Helm"}])
@pytest.mark.parametrize(("kind", "name"), OF_A_PIPELINE)
def test_an_object_of_a_childs_name_stays_and_is_told(kind: str, name: str, labels: Json) -> None:
    stage = Stage()
    before = stage.cluster.put(foreign(kind, name, labels=dict(labels)))
    for _ in range(3):
        stage.tick()
    assert stage.get(kind, name) == before
    assert stage.condition("Stalled") == ("True", "NameTaken")
    assert stage.condition("Ready") == ("False", "NameTaken")
    assert f"{kind} {name} exists" in message(stage)
    assert "rename the StreamPipeline, or delete that object" in message(stage)
    assert ("is managed by Helm" in message(stage)) == ("Helm" in labels.values())
    assert [reason for reason, _ in stage.cluster.events] == ["NameTaken"]
    made = stage.has("StatefulSet", "clicks-driver")
    assert made == (kind == "StatefulSet"), "no driver runs beside what is not ours"
    del stage.cluster.objects[kind, NAMESPACE, name]
    stage.tick()
    stage.tick()
    assert stage.condition("Stalled") == ("False", "NotStalled")
    assert stage.get("StatefulSet", "clicks-driver")["spec"]["replicas"] == 1


def test_whose_it_is_is_told() -> None:
    stage = Stage()
    stage.cluster.put(foreign("Role", "trimtab-driver-clicks", ownerReferences=[DEPLOYMENT]))
    stage.tick()
    stage.tick()
    assert "belongs to Deployment web" in message(stage)


def test_nothing_is_bound_to_somebody_elses_account() -> None:
    stage = Stage()
    stage.cluster.put(foreign("ServiceAccount", "trimtab-driver-clicks"))
    stage.tick()
    stage.tick()
    assert not stage.has("RoleBinding", "trimtab-driver-clicks")
    assert not stage.has("Role", "trimtab-driver-clicks")


def test_a_restarted_operator_says_that_a_name_is_taken_until_it_knows_better() -> None:
    stage = Stage()
    stage.cluster.put(foreign("Role", "trimtab-driver-clicks"))
    stage.tick()
    stage.tick()
    before = stage.status()
    stage.start_operator()
    stage.tick()
    assert stage.status() == before


def test_what_took_the_place_of_a_child_unseen_is_not_overwritten() -> None:
    stage = Stage.at_rest()
    key = ("Role", NAMESPACE, "trimtab-driver-clicks")
    del stage.cluster.objects[key]
    before = stage.cluster.put(foreign("Role", "trimtab-driver-clicks"))
    known = stage.loop.cache.get(*key)
    assert known is not None
    edited = known | {"metadata": known["metadata"] | {"annotations": {}}}
    stage.loop.cache.observe(edited)  # so that the operator wants to apply it
    stage.tick(listed=False)
    assert stage.cluster.objects[key] == before
    stage.tick()
    stage.tick()
    assert stage.cluster.objects[key] == before
    assert stage.condition("Stalled") == ("True", "NameTaken")
    assert stage.has("Pod", "clicks-driver-0"), "the driver goes on"


def test_a_driver_stops_though_a_name_is_taken() -> None:
    stage = Stage.at_rest()
    del stage.cluster.objects["Role", NAMESPACE, "trimtab-driver-clicks"]
    stage.cluster.put(foreign("Role", "trimtab-driver-clicks"))
    stage.edit("suspend", True)
    stage.tick()
    assert stage.get("StatefulSet", "clicks-driver")["spec"]["replicas"] == 0


def test_a_claim_that_was_retained_is_ours() -> None:
    stage = Stage()
    labels = MANAGED_BY | {PIPELINE_LABEL: "clicks"}
    claim = foreign("PersistentVolumeClaim", "clicks-checkpoint", labels=labels)
    uid = stage.cluster.put(claim)["metadata"]["uid"]
    stage.tick()
    stage.tick()
    assert stage.condition("Stalled") == ("False", "NotStalled")
    assert stage.get("PersistentVolumeClaim", "clicks-checkpoint")["metadata"]["uid"] == uid


@pytest.mark.parametrize("labels", [MANAGED_BY, MANAGED_BY | {PIPELINE_LABEL: "other"}])
def test_a_claim_of_another_pipeline_is_not(labels: Json) -> None:
    stage = Stage()
    claim = foreign("PersistentVolumeClaim", "clicks-checkpoint", labels=labels)
    before = stage.cluster.put(claim)
    stage.tick()
    stage.tick()
    assert stage.condition("Stalled") == ("True", "NameTaken")
    assert stage.get("PersistentVolumeClaim", "clicks-checkpoint") == before


def test_what_an_earlier_pipeline_left_is_waited_for() -> None:
    stage = Stage.at_rest()
    del stage.cluster.objects[PARENT]
    stage.cluster.put(example("pipeline", uid="uid-second"))
    objects = stage.cluster.objects.items()
    left = {key: found for key, found in objects if key[2].startswith(("clicks-", "trimtab-"))}
    before = copy.deepcopy(left)
    for _ in range(3):
        stage.tick()
    assert {key: stage.cluster.objects[key] for key in before} == before
    assert stage.condition("Ready") == ("False", "PredecessorRemains")
    assert stage.condition("Reconciling")[0] == "True"
    assert stage.condition("Stalled") == ("False", "NotStalled")
    for key, found in list(stage.cluster.objects.items()):
        owners = found["metadata"].get("ownerReferences", [])
        if any(owner["uid"] == "uid-clicks" for owner in owners):
            del stage.cluster.objects[key]
    stage.tick()
    stage.run_driver()
    stage.tick()
    stage.tick()
    assert stage.condition("Ready") == ("True", "QueryRunning")


def test_a_pod_that_the_driver_would_be_named_like_is_not_the_driver() -> None:
    stage = Stage.at_rest()
    pod = stage.get("Pod", "clicks-driver-0")
    stage.cluster.put(pod | {"metadata": pod["metadata"] | {"ownerReferences": []}})
    stage.tick()
    assert stage.condition("Ready") == ("False", "DriverMissing")


def kafka_condition(stage: Stage, type_: str) -> tuple[str, str, str]:
    found = stage.get("KafkaCluster", "k")["status"]["conditions"]
    (one,) = (c for c in found if c["type"] == type_)
    return one["status"], one["reason"], one["message"]


@pytest.mark.parametrize(("kind", "name"), OF_A_KAFKA)
def test_a_kafka_cluster_does_not_take_names_either(kind: str, name: str) -> None:
    stage = Stage()
    before = stage.cluster.put(foreign(kind, name))
    stage.cluster.put(changed(example("kafka", name="k", uid="uid-k"), "topics", None))
    stage.tick()
    stage.tick()
    assert stage.get(kind, name) == before
    status, reason, words = kafka_condition(stage, "Stalled")
    assert (status, reason) == ("True", "NameTaken")
    assert f"{kind} {name} exists" in words
    assert "rename the KafkaCluster" in words
    assert kafka_condition(stage, "Ready")[:2] == ("False", "NameTaken")
    del stage.cluster.objects[kind, NAMESPACE, name]
    stage.tick()
    assert kafka_condition(stage, "Stalled")[:2] == ("False", "NotStalled")
    assert kafka_condition(stage, "Reconciling")[:2] == ("True", "BrokersStarting")


def test_a_kafka_cluster_waits_for_what_an_earlier_one_left() -> None:
    stage = Stage()
    old = {"apiVersion": "trimtab.dev/v1alpha1", "kind": "KafkaCluster", "name": "k", "uid": "old"}
    left = foreign("Service", "k-kafka", ownerReferences=[old | {"controller": True}])
    before = stage.cluster.put(left)
    stage.cluster.put(changed(example("kafka", name="k", uid="uid-k"), "topics", None))
    stage.tick()
    stage.tick()
    assert stage.get("Service", "k-kafka") == before
    assert kafka_condition(stage, "Reconciling")[:2] == ("True", "PredecessorRemains")
    assert kafka_condition(stage, "Stalled")[0] == "False"


def test_a_job_that_only_looks_like_ours_is_not_deleted() -> None:
    stage = Stage()
    labels = MANAGED_BY | {"trimtab.dev/kafka": "events", "trimtab.dev/component": "kafka-topics"}
    stage.cluster.put(foreign("Job", "somebodys", labels=labels))
    stage.cluster.put(changed(example("kafka"), "topics", [{"name": "a", "partitions": 1}]))
    stage.tick()
    stage.tick()
    assert stage.has("Job", "somebodys")

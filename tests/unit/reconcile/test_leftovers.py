"""What older settings and operators left: kept while a driver may need it, then deleted."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.reconcile.stage import NAMESPACE, Stage, series
from tests.unit.workloads.manifests import CONFIG, changed

from trimtab.api.network import Egress, NetworkSettings

DOWN = {"conditions": [{"type": "Ready", "status": "False"}]}


def jobs(stage: Stage) -> set[str]:
    found = (key for key in stage.cluster.objects if key[0] == "ConfigMap")
    return {name for _, _, name in found if name.startswith("clicks-job-")}


def left_by_an_older_operator(stage: Stage, kind: str, name: str) -> None:
    owner = stage.get("StatefulSet", "clicks-driver")["metadata"]["ownerReferences"]
    labels = {"app.kubernetes.io/managed-by": "trimtab", "trimtab.dev/pipeline": "clicks"}
    meta = {"name": name, "namespace": NAMESPACE, "ownerReferences": owner, "labels": labels}
    stage.cluster.put({"apiVersion": "v1", "kind": kind, "metadata": meta})


def test_a_new_document_has_a_new_name_and_the_old_one_stays_while_its_driver_runs() -> None:
    stage = Stage.at_rest()
    (before,) = jobs(stage)
    stage.edit("transform.python.params", {"wait_ms": "9"})
    stage.tick()
    assert len(jobs(stage)) == 2
    assert before in jobs(stage)
    stage.run_driver()
    stage.tick()
    assert before not in jobs(stage)
    assert len(jobs(stage)) == 1
    stage.tick()
    assert stage.cluster.writes == []


def test_an_unevictable_driver_has_a_budget_until_it_is_evictable_again() -> None:
    stage = Stage.at_rest()
    assert not stage.has("PodDisruptionBudget", "clicks-driver")
    driver = stage.get("Pod", "clicks-driver-0")
    stage.edit("evictable", False)
    stage.tick()
    stage.tick()
    spec = stage.get("PodDisruptionBudget", "clicks-driver")["spec"]
    assert (spec["maxUnavailable"], spec["unhealthyPodEvictionPolicy"]) == (0, "AlwaysAllow")
    assert spec["selector"]["matchLabels"].items() <= driver["metadata"]["labels"].items()
    stage.tick()
    assert stage.cluster.writes == []
    stage.edit("evictable", True)
    stage.tick()
    assert not stage.has("PodDisruptionBudget", "clicks-driver")
    assert stage.get("Pod", "clicks-driver-0") == driver


def test_the_web_ui_has_a_service_until_it_is_given_up() -> None:
    stage = Stage.at_rest()
    assert not stage.has("Service", "clicks-ui")
    driver = stage.get("Pod", "clicks-driver-0")
    stage.edit("sparkUI", {"enabled": True})
    stage.tick()
    spec = stage.get("Service", "clicks-ui")["spec"]
    assert spec["type"] == "ClusterIP"
    assert [port["port"] for port in spec["ports"]] == [4040]
    assert spec["selector"].items() <= driver["metadata"]["labels"].items()
    assert stage.has("Service", "events-kafka"), "of the brokers, which stays"
    stage.edit("sparkUI", {"enabled": False})
    stage.tick()
    stage.tick()
    assert not stage.has("Service", "clicks-ui")
    assert stage.has("Service", "events-kafka")


def test_what_an_older_operator_has_left_goes_once_the_driver_no_longer_uses_it() -> None:
    stage = Stage.at_rest()
    pod: dict[str, Any] = stage.get("Pod", "clicks-driver-0")
    for kind, name in (
        ("ConfigMap", "clicks-job"), ("ServiceAccount", "clicks-driver"), ("Role", "clicks-driver"),
    ):  # fmt: skip
        left_by_an_older_operator(stage, kind, name)
    used = json.loads(json.dumps(pod))
    used["spec"]["serviceAccountName"] = "clicks-driver"
    stage.cluster.put(used)
    stage.tick()
    assert ("ConfigMap", NAMESPACE, "clicks-job") not in stage.cluster.objects
    assert stage.has("ServiceAccount", "clicks-driver"), "the running driver uses it"
    assert stage.has("Role", "clicks-driver")
    stage.run_driver()
    stage.tick()
    assert not stage.has("ServiceAccount", "clicks-driver")
    assert not stage.has("Role", "clicks-driver")
    assert stage.has("ServiceAccount", "trimtab-driver-clicks")


def test_nothing_goes_while_no_driver_is_ready() -> None:
    stage = Stage.at_rest()
    left_by_an_older_operator(stage, "ConfigMap", "clicks-job")
    stage.run_driver(**DOWN)
    stage.tick()
    assert ("ConfigMap", NAMESPACE, "clicks-job") in stage.cluster.objects


def policies(stage: Stage) -> set[str]:
    return {name for kind, _, name in stage.cluster.objects if kind == "NetworkPolicy"}


ALL = {"clicks-driver", "clicks-executor", "events-kafka"}


@pytest.mark.parametrize("status", [{}, DOWN], ids=["ready", "down"])
def test_policies_go_at_once_when_they_are_turned_off(status: dict[str, Any]) -> None:
    stage = Stage.at_rest()
    assert policies(stage) == ALL
    stage.run_driver(**status)
    stage.start_operator(replace(CONFIG, network=None))
    stage.tick()
    assert policies(stage) == set(), "a driver may be down because of them"
    stage.see(series("clicks", stage.clock.now_s + 10))
    stage.tick()
    assert not [key for _, key in stage.cluster.writes if key[0] == "NetworkPolicy"]
    stage.start_operator()
    stage.tick()
    assert policies(stage) == ALL


BROKEN: list[tuple[str, Any, str]] = [
    ("goal", {}, "InvalidSpec"),
    ("source.kafka.cluster", "nowhere", "KafkaClusterNotFound"),
    ("checkpoint.volumeClaim", {"shared": True}, "CheckpointIncompatible"),
]


@pytest.mark.parametrize(("path", "value", "reason"), BROKEN, ids=[row[2] for row in BROKEN])
def test_policies_go_although_the_spec_cannot_be_carried_out(
    path: str, value: Any, reason: str
) -> None:
    stage = Stage.at_rest()
    stage.edit(path, value)
    stage.tick()
    assert stage.condition("Stalled") == ("True", reason)
    assert policies(stage) == ALL
    running = stage.get("Pod", "clicks-driver-0")
    stage.start_operator(replace(CONFIG, network=None))
    stage.tick()
    assert policies(stage) == set()
    assert stage.get("Pod", "clicks-driver-0") == running
    stage.tick()
    assert stage.cluster.writes == []


def test_policies_of_a_kafka_cluster_go_although_its_spec_is_invalid() -> None:
    stage = Stage.at_rest()
    kafka = changed(stage.get("KafkaCluster", "events"), "replicas", "three")
    stage.cluster.put(kafka)
    stage.tick()
    assert policies(stage) == ALL
    stage.start_operator(replace(CONFIG, network=None))
    stage.tick()
    assert policies(stage) == set()
    assert stage.has("StatefulSet", "events-kafka")


@pytest.mark.parametrize(
    ("kind", "name", "field", "asked", "given_up"),
    [
        ("PodDisruptionBudget", "clicks-driver", "evictable", False, True),
        ("Service", "clicks-ui", "sparkUI", {"enabled": True}, {"enabled": False}),
    ],
)
def test_what_is_given_up_goes_although_the_pipeline_cannot_run(
    kind: str, name: str, field: str, asked: Any, given_up: Any
) -> None:
    stage = Stage.at_rest()
    stage.edit(field, asked)
    stage.tick()
    stage.edit("source.kafka.cluster", "nowhere")
    stage.tick()
    assert stage.has(kind, name)
    stage.edit(field, given_up)
    stage.tick()
    assert not stage.has(kind, name)


def test_policies_of_others_stay_when_they_are_turned_off() -> None:
    stage = Stage.at_rest()
    for owner in ("clicks-driver", "events-kafka"):
        theirs = copy.deepcopy(stage.get("NetworkPolicy", owner))
        theirs["metadata"] |= {"name": f"theirs-{owner}", "ownerReferences": []}
        stage.cluster.put(theirs)
    stage.start_operator(replace(CONFIG, network=None))
    stage.tick()
    assert policies(stage) == {"theirs-clicks-driver", "theirs-events-kafka"}


def test_new_values_reach_the_policies_and_restart_nothing() -> None:
    stage = Stage.at_rest()
    stage.start_operator(replace(CONFIG, network=NetworkSettings(egress=Egress())))
    stage.tick()
    for role in ("driver", "executor"):
        spec = stage.get("NetworkPolicy", f"clicks-{role}")["spec"]
        assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert [key for verb, key in stage.cluster.writes if verb == "delete"] == []


def test_what_others_own_stays() -> None:
    stage = Stage.at_rest()
    left_by_an_older_operator(stage, "ConfigMap", "mine")
    mine = stage.cluster.objects["ConfigMap", NAMESPACE, "mine"]
    stage.cluster.put(mine | {"metadata": mine["metadata"] | {"ownerReferences": []}})
    stage.tick()
    assert ("ConfigMap", NAMESPACE, "mine") in stage.cluster.objects


def test_a_driver_that_is_down_with_an_older_document_is_made_anew() -> None:
    stage = Stage.at_rest()
    before = stage.get("Pod", "clicks-driver-0")
    volumes = [{"name": "job", "configMap": {"name": "clicks-job-older"}}]
    ended = {"terminated": {"exitCode": 1, "message": ""}}
    status = DOWN | {"containerStatuses": [{"image": "x", "state": ended}]}
    older = before | {"spec": before["spec"] | {"volumes": volumes}, "status": status}
    stage.cluster.put(older)
    stage.tick()
    assert ("delete", ("Pod", NAMESPACE, "clicks-driver-0")) in stage.cluster.writes

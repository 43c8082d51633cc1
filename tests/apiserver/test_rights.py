"""The operator's rights are those that it uses, as the API server's audit log has it.

One life in which each right is needed once: strangers hold the names of children, others change
children, and older operators have left objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dev.localcluster.controlplane import AUDIT_LOG
from tests import strimzi
from tests.apiserver.conftest import Kubectl
from tests.apiserver.test_chart import rendered
from tests.apiserver.test_strimzi import install, moved, put, wish
from tests.bounds import VOLUMES
from tests.e2e.calls import verbs
from tests.faults.life import Life, edited, manifests, started
from tests.faults.operators import HOME, account, grant

from trimtab.api.kinds import KINDS
from trimtab.reconcile.decide.leftovers import LEFT
from trimtab.workloads.common import MANAGED_BY

pytestmark = pytest.mark.apiserver

ACCOUNT = "t-operator-rights"
Json = dict[str, Any]
Right = tuple[str, str]
"""A resource with its API group, and a verb."""
PIPELINE = ("StreamPipeline", "clicks")
ADDED: dict[str, Json] = {
    "StatefulSet": {"spec": {"template": {"metadata": {"annotations": {"by": "somebody"}}}}},
    "Service": {"spec": {"ports": [{"name": "more", "port": 99}]}},
    "NetworkPolicy": {"spec": {"egress": [{}]}},
    "PodDisruptionBudget": {"spec": {"maxUnavailable": 1}},
}
"""By kind, what somebody sets."""


@pytest.fixture(scope="module")
def life(
    kubectl: Kubectl, kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Life]:
    grant(kubectl)
    token = account(kubectl, ACCOUNT)
    folder = tmp_path_factory.mktemp("rights")
    # of an operator of another test: this one must make its own
    kubectl("delete", "lease", "t-operator", "-n", HOME, "--ignore-not-found")
    with started(kubeconfig, token, folder, "rights", resync_s=3, LEASE="t-operator") as made:
        yield made


def test_the_rights_are_those_that_it_uses(life: Life, kubeconfig: Path, kubectl: Kubectl) -> None:
    children = first_life(life)
    names_are_taken(life, children)
    others_change_children(life)
    older_operators_have_left_objects(life)
    brokers_grow(life)
    somebody_sets_a_policy(life)
    a_pipeline_moves_to_strimzi(life, kubectl)
    log = kubeconfig.parent / "logs" / AUDIT_LOG
    used = {
        (resource, verb)
        for resource, found in verbs(log, f"system:serviceaccount:{HOME}:{ACCOUNT}").items()
        for verb in found
    }
    granted, passed_on = rights(chart_rules()), rights(drivers_rules(life))
    assert used - granted == set()
    assert sorted(granted - used - passed_on) == [], "granted, and never used"


def first_life(life: Life) -> list[Json]:
    """Make and delete everything; returns the children that there were."""
    life.make()
    life.world.apply(unevictable())
    life.settle("made")
    live = life.world.everything().values()
    children = [each for each in live if managed(each) and each["kind"] != "Pod"]
    life.edit()
    life.settle("edited")
    life.delete()
    life.settle("deleted")
    for claim in life.world.all("PersistentVolumeClaim"):
        remove(life, "PersistentVolumeClaim", claim["metadata"]["name"])
    return children


def unevictable() -> Json:
    """The quickstart's pipeline, with all that a pipeline may have beside it."""
    found = next(each for each in manifests() if each["kind"] == "StreamPipeline")
    found["spec"]["evictable"] = False
    found["spec"]["volumes"] = VOLUMES
    found["spec"]["sparkUI"] = {"enabled": True}
    found["spec"]["sink"]["kafka"] = {
        "bootstrapServers": "kafka:9093",
        "topic": "clicks-out",
        "tls": {"trustedCertificates": [{"secretName": "kafka-ca", "certificate": "ca.crt"}]},
    }
    return found


def remove(life: Life, kind: str, name: str) -> None:
    """Delete an object; no controller ends the protection of a claim here."""
    live = life.world.get(kind, name)
    if kind == "PersistentVolumeClaim" and live is not None:
        live["metadata"]["finalizers"] = []
        life.world.replace(live)
    life.world.delete(kind, name)


def managed(each: Json) -> bool:
    return bool(MANAGED_BY.items() <= (each["metadata"].get("labels") or {}).items())


def names_are_taken(life: Life, children: list[Json]) -> None:
    """A stranger's object has the name of each child; who is in the way goes."""
    for each in children:
        meta = {"name": each["metadata"]["name"]}
        body = {key: part for key, part in each.items() if key not in {"metadata", "status"}}
        if each["kind"] == "Job":  # the rest of it names the Job of before
            body["spec"] = {"template": {"spec": each["spec"]["template"]["spec"]}}
        life.world.apply(body | {"metadata": meta})
    life.make()
    life.world.apply(unevictable())
    names = {f"{each['kind']} {each['metadata']['name']}" for each in children}
    named: set[str] = set()

    def nobody_is_in_the_way() -> bool:
        for name in taken(life, names - named):
            named.add(name)
            remove(life, *name.split())
        driver = life.world.get("StatefulSet", "clicks-driver")
        return driver is not None and "ownerReferences" in driver["metadata"]

    life.until("nobody is in the way", nobody_is_in_the_way)
    life.settle("nobody is in the way")
    assert {each.split()[0] for each in named} == {each["kind"] for each in children}


def taken(life: Life, names: set[str]) -> set[str]:
    """Which of these the status names."""
    told = [
        life.world.condition("Stalled", name, kind)
        for kind, name in (("StreamPipeline", "clicks"), ("KafkaCluster", "events"))
    ]
    said = " ".join(each["message"] for each in told if each.get("reason") == "NameTaken")
    return {name for name in names if f"{name} exists" in said}


def others_change_children(life: Life) -> None:
    """Somebody sets a field of children of these kinds."""
    for kind, part in ADDED.items():
        for each in life.world.all(kind):
            meta = {"name": each["metadata"]["name"]}
            changed = {"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": meta}
            life.world.apply(changed | part)
    life.settle("others have changed children")


def older_operators_have_left_objects(life: Life) -> None:
    """Objects of the pipeline of a name that nothing has any more, of each kind that may."""
    owner = life.world.get("StreamPipeline", "clicks") or {}
    reference = {key: owner[key] for key in ("apiVersion", "kind")} | {
        key: owner["metadata"][key] for key in ("name", "uid")
    }
    reference["controller"] = True
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "old"}
    bodies: dict[str, Json] = {
        "RoleBinding": {"roleRef": role},
        "NetworkPolicy": {"spec": {"podSelector": {"matchLabels": {"is": "old"}}}},
        "PodDisruptionBudget": {"spec": {"maxUnavailable": 1}},
        "Service": {"spec": {"ports": [{"port": 1}]}},
    }
    for kind in LEFT:
        meta = {"name": "old", "labels": dict(MANAGED_BY), "ownerReferences": [reference]}
        made = {"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": meta}
        life.world.apply(made | bodies.get(kind, {}))
    life.until(
        "what was left is gone",
        lambda: not any(life.world.get(kind, "old") for kind in LEFT),
    )


def brokers_grow(life: Life) -> None:
    """The volumes of brokers are enlarged."""
    kafka = edited()[0]
    kafka["spec"]["storage"] = {"size": "3Gi"}
    life.world.apply(kafka)
    life.settle("brokers have grown")


def somebody_sets_a_policy(life: Life) -> None:
    """A policy is told what became of it."""
    meta = {"name": "team"}
    kind = {"apiVersion": KINDS["TuningPolicy"].api_version, "kind": "TuningPolicy"}
    life.world.apply(kind | {"metadata": meta, "spec": {"mode": "Observe"}})
    life.until(
        "the policy is accepted",
        lambda: life.world.condition("Ready", "team", "TuningPolicy").get("status") == "True",
    )


def a_pipeline_moves_to_strimzi(life: Life, kubectl: Kubectl) -> None:
    """One that needs more partitions than its topic has."""
    install(kubectl)
    for each in (strimzi.kafka, strimzi.user, strimzi.topic):
        put(kubectl, each(namespace=life.world.namespace))
    life.world.apply(moved(unevictable()))
    life.until("it is reached", lambda: life.world.condition("Stalled").get("status") == "False")

    def raised() -> bool:
        live, topic = (life.world.get(*key) for key in (PIPELINE, ("KafkaTopic", "clicks")))
        assert live is not None
        assert topic is not None
        if topic["spec"]["partitions"] < 24:
            wish(kubectl, live, 24)
        return bool(topic["spec"]["partitions"] == 24)

    life.until("its topic has more partitions", raised)


def chart_rules() -> list[Json]:
    """What the chart allows an operator of one namespace: in it, and with its Lease."""
    mine = {"t-operator", "t-operator-lease"}
    return [
        rule
        for manifest in rendered("watchNamespaces={here}")
        if manifest["kind"] in {"ClusterRole", "Role"} and manifest["metadata"]["name"] in mine
        for rule in manifest["rules"]
    ]


def drivers_rules(life: Life) -> list[Json]:
    """What the operator must hold because it grants it to drivers."""
    return [rule for role in life.world.all("Role") for rule in role["rules"]]


def rights(rules: list[Json]) -> set[Right]:
    """One pair for each resource and verb of the rules."""
    return {
        (f"{group}/{resource}".lstrip("/"), verb)
        for rule in json.loads(json.dumps(rules))
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }

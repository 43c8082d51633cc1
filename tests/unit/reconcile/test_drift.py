"""What others change of our children is put back in the next tick, and said once."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.unit.reconcile.stage import NAMESPACE, Stage, series
from tests.unit.workloads.manifests import Json

SET = ("StatefulSet", "clicks-driver")


@pytest.fixture
def stage() -> Stage:
    return Stage.at_rest()


def edit(stage: Stage, kind: str, name: str, path: str, value: Any) -> None:
    """Somebody sets one field of an object; None removes it. Our hash annotation stays."""
    live = copy.deepcopy(stage.get(kind, name))
    *folders, last = path.replace("trimtab.dev", "trimtab-dev").split(".")
    last = last.replace("trimtab-dev", "trimtab.dev")
    node: Any = live
    for part in folders:
        node = node[int(part)] if part.isdigit() else node[part]
    if value is None:
        node.pop(last)
    elif isinstance(node, list):
        node.append(value)
    else:
        node[last] = value
    stage.cluster.put(live)


def told(stage: Stage) -> list[str]:
    return [words for reason, words in stage.cluster.events if reason == "DriftRepaired"]


def seen(stage: Stage) -> None:
    stage.see(series("clicks", stage.clock.now_s + 10))
    stage.tick()


def test_a_scaled_driver_is_scaled_back_as_soon_as_the_watch_tells(stage: Stage) -> None:
    before = stage.get(*SET)["spec"]
    edit(stage, *SET, "spec.replicas", 2)
    stage.loop.cache.observe(stage.get(*SET))
    stage.tick(listed=False)
    assert stage.get(*SET)["spec"] == before
    assert stage.cluster.writes == [("apply", ("StatefulSet", NAMESPACE, "clicks-driver"))]
    seen(stage)
    assert stage.cluster.writes == []
    assert len(told(stage)) == 1
    assert "StatefulSet clicks-driver was changed by others and is put back" in told(stage)[0]
    assert "spec.replicas (by somebody)" in told(stage)[0]


RULE = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
SIDECAR = {"name": "miner", "image": "miner:1"}
POD = "spec.template.spec"

EDITS = [
    ("Role", "trimtab-driver-clicks", "rules.0", RULE),
    ("Role", "trimtab-driver-clicks", "rules", [RULE]),
    ("RoleBinding", "trimtab-driver-clicks", "subjects.0", {"kind": "Group", "name": "all"}),
    ("RoleBinding", "trimtab-driver-clicks", "subjects", None),
    (*SET, "spec.ordinals", {"start": 5}),
    (*SET, f"{POD}.containers.0", SIDECAR),
    (*SET, f"{POD}.containers.0.image", "other:1"),
    (*SET, f"{POD}.containers.0.readinessProbe", None),
    (*SET, f"{POD}.containers.0.securityContext", {"privileged": True}),
    (*SET, f"{POD}.initContainers", [SIDECAR]),
    (*SET, f"{POD}.hostNetwork", True),
    (*SET, f"{POD}.serviceAccountName", "admin"),
    ("ConfigMap", "clicks-job", "data", {"job.json": "{}"}),
    ("ConfigMap", "clicks-job", "data", {}),
    ("ServiceAccount", "trimtab-driver-clicks", "metadata.labels.trimtab.dev/pipeline", "other"),
    ("Service", "events-kafka", "spec.externalIPs", ["10.0.0.9"]),
    ("ConfigMap", "events-kafka", "data", {"server.properties": "none"}),
    ("NetworkPolicy", "clicks-driver", "spec.ingress.0", {}),
    ("NetworkPolicy", "clicks-driver", "spec.podSelector", {"matchLabels": {"no": "pod"}}),
    ("NetworkPolicy", "clicks-executor", "spec.egress", [{}]),
    ("NetworkPolicy", "events-kafka", "spec.ingress", [{}]),
]


@pytest.mark.parametrize(("kind", "name", "path", "value"), EDITS)
def test_what_others_change_is_put_back(
    stage: Stage, kind: str, name: str, path: str, value: Any
) -> None:
    before = lasting(stage.get(kind, name))
    edit(stage, kind, name, path, value)
    assert lasting(stage.get(kind, name)) != before
    seen(stage)
    assert lasting(stage.get(kind, name)) == before
    seen(stage)
    assert stage.cluster.writes == []
    assert len(told(stage)) == 1


def lasting(manifest: Json) -> Json:
    passing = {"resourceVersion", "managedFields", "generation"}
    meta = {k: v for k, v in manifest["metadata"].items() if k not in passing}
    return manifest | {"metadata": meta}


LEFT = [
    ("ConfigMap", "clicks-job", "data.note", "mine"),
    ("ServiceAccount", "trimtab-driver-clicks", "imagePullSecrets", [{"name": "registry"}]),
    ("ServiceAccount", "trimtab-driver-clicks", "metadata.annotations.role", "arn"),
    ("PersistentVolumeClaim", "clicks-checkpoint", "spec.resources.requests.storage", "5Gi"),
    ("PersistentVolumeClaim", "clicks-checkpoint", "spec.volumeName", "pv-1"),
    (*SET, "metadata.labels.team", "data"),
    (*SET, "status", {"replicas": 1}),
]


@pytest.mark.parametrize(("kind", "name", "path", "value"), LEFT)
def test_what_others_may_set_stays(
    stage: Stage, kind: str, name: str, path: str, value: Any
) -> None:
    edit(stage, kind, name, path, value)
    before = stage.get(kind, name)
    seen(stage)
    assert stage.cluster.writes == []
    assert stage.get(kind, name) == before


def test_what_cannot_be_put_back_is_tried_once(stage: Stage) -> None:
    """Somebody adds a field to whatever is stored."""
    replace = stage.cluster.replace

    def adding(manifest: Json) -> Json:
        replace(manifest)
        edit(stage, *SET, f"{POD}.hostNetwork", True)
        return stage.get(*SET)

    stage.cluster.replace = adding  # type: ignore[method-assign]
    edit(stage, *SET, f"{POD}.hostNetwork", True)
    seen(stage)
    assert [how for how, _ in stage.cluster.writes] == ["apply", "replace"]
    for _ in range(3):
        seen(stage)
        assert stage.cluster.writes == []
    edit(stage, *SET, "spec.replicas", 2)
    seen(stage)
    assert stage.get(*SET)["spec"]["replicas"] == 1


def test_a_fight_is_not_told_each_time(stage: Stage) -> None:
    for _ in range(20):
        edit(stage, *SET, "spec.replicas", 2)
        seen(stage)
        assert stage.get(*SET)["spec"]["replicas"] == 1
    assert len(told(stage)) == 1


@pytest.mark.parametrize(
    "broken",
    [{"source": {"kafka": {"cluster": "nowhere", "topics": ["clicks"]}}}, {"goal": {}}],
)
def test_a_driver_is_scaled_back_while_something_else_is_wrong(stage: Stage, broken: Json) -> None:
    live = stage.get("StreamPipeline", "clicks")
    stage.cluster.put(live | {"spec": live["spec"] | broken})
    edit(stage, *SET, "spec.replicas", 2)
    seen(stage)
    assert stage.get(*SET)["spec"]["replicas"] == 1
    seen(stage)
    assert stage.cluster.writes == []


def test_a_child_without_our_labels_is_found_and_labelled_again(stage: Stage) -> None:
    before = lasting(stage.get("ServiceAccount", "trimtab-driver-clicks"))
    edit(stage, "ServiceAccount", "trimtab-driver-clicks", "metadata.labels", {})
    seen(stage)
    assert lasting(stage.get("ServiceAccount", "trimtab-driver-clicks")) == before


def test_a_second_driver_is_seen_as_long_as_it_is_there(stage: Stage) -> None:
    assert stage.condition("Ready") == ("True", "QueryRunning")
    stage.run_driver(ordinal=1)
    seen(stage)
    assert stage.condition("Ready") == ("False", "ExtraDriver")
    assert stage.condition("Reconciling")[0] == "True"
    words = next(c["message"] for c in stage.status()["conditions"] if c["type"] == "Ready")
    assert "clicks-driver-1" in words
    del stage.cluster.objects["Pod", NAMESPACE, "clicks-driver-1"]
    seen(stage)
    assert stage.condition("Ready") == ("True", "QueryRunning")


def test_somebody_elses_pod_is_no_second_driver(stage: Stage) -> None:
    pod = copy.deepcopy(stage.get("Pod", "clicks-driver-0"))
    pod["metadata"] |= {"name": "clicks-driver-1", "ownerReferences": []}
    stage.cluster.put(pod)
    seen(stage)
    assert stage.condition("Ready") == ("True", "QueryRunning")

"""What users and the chart add to pods reaches drivers, executors, brokers and the topics' Job."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.workloads.manifests import (
    CONFIG,
    Json,
    changed,
    example,
    inputs,
    kafka_children,
    pipeline_children,
)

from trimtab.api.contract import Executors, Job
from trimtab.api.pod_user import PodUser
from trimtab.job.executors.pod_template import pod_template
from trimtab.settings import OperatorSettings
from trimtab.workloads.common import INPUTS_ANNOTATION, MANAGED_BY
from trimtab.workloads.driver import with_inputs

TOLERATION = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
AFFINITY: Json = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
            ]
        }
    },
    "podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 5,
                "podAffinityTerm": {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"team": "data"}},
                },
            }
        ]
    },
}
TEMPLATE: Json = {
    "imagePullSecrets": [{"name": "mine"}, {"name": "shared"}],
    "imagePullPolicy": "Always",
    "tolerations": [
        TOLERATION,
        {"key": "team", "value": "data", "effect": "NoExecute", "tolerationSeconds": 0},
    ],
    "affinity": AFFINITY,
    "priorityClassName": "high",
    "labels": {"team": "data", "example.com/cost": ""},
    "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
}
CHART = replace(CONFIG, image_pull_secrets=("shared", "chart"), image_pull_policy="Never")


def templates(asked: Json | None, config: OperatorSettings = CONFIG) -> dict[str, Json]:
    """The pods' templates of a pipeline and of a Kafka cluster."""
    pipeline = changed(example("pipeline"), "podTemplate", asked)
    kafka = changed(example("kafka"), "podTemplate", asked)
    children = [with_inputs(pipeline_children(pipeline, config)["StatefulSet"], "hash")]
    children += [c for c in kafka_children(kafka, config) if "template" in c.get("spec", {})]
    return {c["metadata"]["name"].rsplit("-", 1)[0]: c["spec"]["template"] for c in children}


def executors(asked: Json | None, config: OperatorSettings = CONFIG) -> tuple[Executors, str]:
    manifest = changed(example("pipeline"), "podTemplate", asked)
    text = pipeline_children(manifest, config)["ConfigMap"]["data"]["job.json"]
    found = Job.from_json(text).executors
    assert found is not None
    return found, text


PODS = ["clicks", "events", "events-topics"]


@pytest.mark.parametrize("name", PODS)
def test_all_that_is_asked_for_reaches_the_pods(name: str) -> None:
    assert list(templates(None)) == PODS
    meta, spec = (templates(TEMPLATE)[name][part] for part in ("metadata", "spec"))
    assert spec["imagePullSecrets"] == [{"name": "mine"}, {"name": "shared"}]
    assert {c["imagePullPolicy"] for c in spec["containers"]} == {"Always"}
    assert spec["tolerations"] == TEMPLATE["tolerations"]
    assert spec["affinity"] == AFFINITY
    assert spec["priorityClassName"] == "high"
    assert meta["labels"].items() >= (TEMPLATE["labels"] | MANAGED_BY).items()
    assert meta["annotations"].items() >= TEMPLATE["annotations"].items()
    assert (INPUTS_ANNOTATION in meta["annotations"]) == (name != "events-topics")


@pytest.mark.parametrize("name", PODS)
def test_what_is_not_asked_for_is_not_there(name: str) -> None:
    template = templates(None)[name]
    added = {"imagePullSecrets", "tolerations", "affinity", "priorityClassName"}
    assert not added & template["spec"].keys()
    assert template == templates({})[name]
    assert {c["imagePullPolicy"] for c in template["spec"]["containers"]} == {"IfNotPresent"}


@pytest.mark.parametrize("name", PODS)
def test_the_charts_secrets_and_policy_reach_the_pods(name: str) -> None:
    spec = templates(None, CHART)[name]["spec"]
    assert spec["imagePullSecrets"] == [{"name": "shared"}, {"name": "chart"}]
    assert {c["imagePullPolicy"] for c in spec["containers"]} == {"Never"}
    both = templates(TEMPLATE, CHART)[name]["spec"]
    assert [s["name"] for s in both["imagePullSecrets"]] == ["shared", "chart", "mine"]
    assert {c["imagePullPolicy"] for c in both["containers"]} == {"Always"}


def test_the_selectors_stay_those_of_trimtab() -> None:
    for child in (pipeline_children, lambda m: {c["kind"]: c for c in kafka_children(m)}):
        file = "pipeline" if child is pipeline_children else "kafka"
        plain, asked = (
            child(changed(example(file), "podTemplate", t))["StatefulSet"] for t in (None, TEMPLATE)
        )
        assert asked["spec"]["selector"] == plain["spec"]["selector"]
        assert asked["metadata"]["labels"] == plain["metadata"]["labels"]


def test_executors_get_the_same() -> None:
    found, _ = executors(TEMPLATE, CHART)
    assert found.pod_template is not None
    written = found.pod_template.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert [s["name"] for s in written["imagePullSecrets"]] == ["shared", "chart", "mine"]
    assert written["labels"] == TEMPLATE["labels"]
    assert found.pod_template.scheduling() == {
        k: TEMPLATE[k] for k in ("tolerations", "affinity", "priorityClassName")
    }


def test_a_document_that_says_nothing_new_is_the_same_as_before() -> None:
    found, text = executors(None)
    assert found.pod_template is None
    assert "podTemplate" not in text
    assert executors({})[1] == text


@pytest.mark.parametrize(
    ("field", "value"), [(k, v) for k, v in TEMPLATE.items() if k != "priorityClassName"]
)
def test_an_edit_restarts_the_driver(field: str, value: Any) -> None:
    plain = changed(example("pipeline"), "podTemplate", {"priorityClassName": "high"})
    assert inputs(changed(plain, f"podTemplate.{field}", value)) != inputs(plain)


def test_other_values_of_the_chart_restart_no_driver() -> None:
    for asked in (None, TEMPLATE):
        manifest = changed(example("pipeline"), "podTemplate", asked)
        assert inputs(manifest, CHART) == inputs(manifest)


IDS = ("runAsUser", "runAsGroup", "fsGroup")
RESTRICTED = {
    "runAsNonRoot": True,
    "fsGroupChangePolicy": "OnRootMismatch",
    "seccompProfile": {"type": "RuntimeDefault"},
}
USERS: list[tuple[PodUser | None, Json]] = [
    (None, dict.fromkeys(IDS, 10001)),
    (PodUser(run_as_user=7, run_as_group=0, fs_group=9), dict(zip(IDS, (7, 0, 9), strict=True))),
    (PodUser(), {}),
]


@pytest.mark.parametrize(("user", "ids"), USERS, ids=["default", "chosen", "by-the-cluster"])
def test_all_pods_run_as_the_user_of_the_chart(user: PodUser | None, ids: Json) -> None:
    config = CONFIG if user is None else replace(CONFIG, pod_user=user)
    made = [template["spec"] for template in templates(None, config).values()]
    made.append(pod_template(executors(None, config)[0], ())["spec"])
    assert [spec["securityContext"] for spec in made] == [RESTRICTED | ids] * 4
    for spec in made:
        for container in spec["containers"]:
            assert not set(IDS) & container["securityContext"].keys()


def test_another_user_restarts_no_driver() -> None:
    """And a job document that says nothing new is understood by drivers of an older image."""
    other = replace(CONFIG, pod_user=PodUser())
    assert inputs(example("pipeline"), other) == inputs(example("pipeline"))
    assert "podUser" not in executors(None)[1]


BOTH: Json = {
    "imagePullSecrets": [{"name": "mine"}],
    "tolerations": [TOLERATION],
    "affinity": AFFINITY,
    "priorityClassName": "high",
    "labels": {"team": "data", "tier": "both"},
    "annotations": {"a": "both"},
}
SPOT: Json = {
    "nodeSelector": {"lifecycle": "spot"},
    "tolerations": [TOLERATION, {"operator": "Exists"}],
    "priorityClassName": "low",
    "labels": {"tier": "spot"},
    "annotations": {"b": "spot"},
}


def of_roles(asked: Json) -> tuple[Json, Executors]:
    """The driver's template, and the shape of the executors."""
    manifest = changed(
        changed(example("pipeline"), "podTemplate", asked), "nodeSelector", {"d": "e"}
    )
    children = pipeline_children(manifest)
    made = Job.from_json(children["ConfigMap"]["data"]["job.json"]).executors
    assert made is not None
    template = children["StatefulSet"]["spec"]["template"]
    del template["spec"]["volumes"]  # the name of the job document is a hash of it
    return template, made


def test_what_is_said_of_executors_wins_there_and_leaves_the_driver() -> None:
    driver, executors = of_roles(BOTH | {"executor": SPOT})
    plain, both = of_roles(BOTH)
    assert driver == plain
    assert executors.node_selector == {"d": "e", "lifecycle": "spot"}
    assert executors.pod_template is not None
    assert executors.pod_template.scheduling() == {
        "tolerations": SPOT["tolerations"], "affinity": AFFINITY, "priorityClassName": "low",
    }  # fmt: skip
    assert executors.pod_template.labels == {"team": "data", "tier": "spot"}
    assert executors.pod_template.annotations == {"a": "both", "b": "spot"}
    assert [s.name for s in executors.pod_template.image_pull_secrets] == ["mine"]
    assert both.node_selector == {"d": "e"}


def test_what_is_said_of_the_driver_wins_there_and_leaves_the_executors() -> None:
    own = {"nodeSelector": {"d": "f"}, "tolerations": [], "labels": {"tier": "driver"}}
    driver, executors = of_roles(BOTH | {"driver": own})
    assert executors == of_roles(BOTH)[1]
    assert driver["spec"]["nodeSelector"] == {"d": "f"}
    assert "tolerations" not in driver["spec"], "an empty list takes them away"
    assert driver["spec"]["affinity"] == AFFINITY
    assert driver["metadata"]["labels"].items() >= {"team": "data", "tier": "driver"}.items()
    assert driver["metadata"]["annotations"] == {"a": "both"}


def test_the_job_document_has_the_executors_parts_only() -> None:
    """As drivers of an older image know them."""
    _, text = executors(BOTH | {"executor": SPOT, "driver": {"labels": {"tier": "driver"}}})
    assert "spot" in text
    assert '"tier": "driver"' not in text
    template = json.loads(text)["executors"]["podTemplate"]
    assert template.keys() == {*BOTH, "imagePullPolicy"}


def test_an_edit_of_one_role_restarts_the_driver() -> None:
    plain = changed(example("pipeline"), "podTemplate", BOTH)
    found = [inputs(plain)]
    found += [
        inputs(changed(plain, f"podTemplate.{role}", SPOT)) for role in ("driver", "executor")
    ]
    assert len(set(found)) == 3


def test_executors_are_spread_among_themselves_and_only_if_asked() -> None:
    spread = [{"topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}]
    asked = {"executor": {"topologySpreadConstraints": spread}}
    pods, _ = executors(asked)
    (made,) = pod_template(pods, ())["spec"]["topologySpreadConstraints"]
    assert made == spread[0] | {"maxSkew": 1, "labelSelector": {"matchLabels": pods.labels}}
    assert pods.labels["trimtab.dev/pipeline"] == "clicks"
    plain = example("pipeline")
    assert inputs(changed(plain, "podTemplate", asked)) != inputs(plain)
    assert "topologySpreadConstraints" not in pod_template(executors(None)[0], ())["spec"]

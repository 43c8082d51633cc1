"""`trimtab doctor`: the verdict on each thing that a cluster can say."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.cli.test_explain import condition, pipeline

from trimtab.api.crd import all_crds
from trimtab.cli.checks import Finding, Verdict, checked
from trimtab.cli.doctor import as_json, as_text
from trimtab.survey import RIGHTS, Survey, Unread

Json = dict[str, Any]
OURS = "0.1.0"
ESTABLISHED = {"conditions": [{"type": "Established", "status": "True"}]}
NOT_TOLD = Unread("the API server refused: forbidden")


def crds() -> list[Json]:
    return [copy.deepcopy(crd) | {"status": ESTABLISHED} for crd in all_crds().values()]


def operator(watched: str = "", version: str = OURS, ready: int = 1, replicas: int = 1) -> Json:
    env = [{"name": "TRIMTAB_NAMESPACES", "value": watched}]
    return {
        "metadata": {
            "name": "trimtab-operator", "namespace": "trimtab",
            "labels": {"app.kubernetes.io/version": version},
        },
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"env": env}]}}},
        "status": {"readyReplicas": ready} if ready else {},
    }  # fmt: skip


def storage(name: str, *, default: bool) -> Json:
    key = "storageclass.kubernetes.io/is-default-class"
    return {"metadata": {"name": name, "annotations": {key: "true"} if default else {}}}


def home(**more: Any) -> Json:
    return {"metadata": {"name": "shop", **more}}


def told(ready: str, *, metrics: str, reason: str, message: str = "") -> Json:
    status = [
        condition("Ready", ready, "Running"),
        condition("MetricsAvailable", metrics, reason, message),
    ]
    return pipeline(conditions=status)


FRESH = told("True", metrics="True", reason="Fresh")
GOOD = Survey(
    version="v1.35.4", namespace="shop", home=home(), crds=tuple(crds()), operators=(operator(),),
    denied=(), classes=(storage("fast", default=True),), pipelines=(FRESH,), quotas=(), ranges=(),
)  # fmt: skip


def found(check: str, *classes: str, **other: Any) -> Finding:
    """The last finding of that check; all other checks must be well."""
    findings = checked(replace(GOOD, **other), OURS, classes)
    assert {each.check for each in findings if each.verdict != "ok"} <= {check}
    return [each for each in findings if each.check == check][-1]


def test_a_good_cluster_needs_nothing() -> None:
    findings = checked(GOOD, OURS)
    assert {each.verdict for each in findings} == {"ok"}
    assert {each.todo for each in findings} == {""}
    assert len(as_text(findings).splitlines()) == len(findings) == 8


@pytest.mark.parametrize(
    ("version", "verdict"),
    [("v1.29.9", "fail"), ("v1.30.0", "ok"), ("v1.34.1-eks-12ab", "ok"), ("v2.0.0", "ok"),
     ("odd", "fail")],
)  # fmt: skip
def test_kubernetes_must_be_new_enough(version: str, verdict: str) -> None:
    assert found("Kubernetes", version=version).verdict == verdict


def test_before_the_install_nothing_fails() -> None:
    findings = checked(replace(GOOD, crds=(), operators=(), pipelines=()), OURS)
    assert {each.check for each in findings if each.verdict == "warn"} == {
        "CRDs", "operator", "metrics"
    }  # fmt: skip
    assert "fail" not in {each.verdict for each in findings}


def test_crds_that_an_operator_lacks_fail() -> None:
    lacking = found("CRDs", crds=tuple(crds()[1:]))
    assert lacking.verdict == "fail"
    assert "streampipelines.trimtab.dev" in lacking.words
    idle = crds()
    idle[0]["status"] = {}
    assert "not established" in found("CRDs", crds=tuple(idle)).words


def test_crds_of_another_version_are_told_apart() -> None:
    other = crds()
    schema = other[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["limits"]
    assert found("CRDs", crds=tuple(other)).verdict == "fail"  # the operator is of our version
    findings = checked(replace(GOOD, crds=tuple(other), operators=(operator(version="9"),)), OURS)
    assert [each.verdict for each in findings if each.check in {"CRDs", "operator"}] == [
        "warn", "warn"
    ]  # fmt: skip


def test_the_operator_must_be_ready_and_watch_the_namespace() -> None:
    assert found("operator", operators=(operator(ready=0),)).verdict == "fail"
    assert found("operator", operators=(operator(ready=1, replicas=2),)).verdict == "warn"
    assert found("operator", operators=(operator("a,shop"),)).verdict == "ok"
    none = found("operator", operators=(operator("a,b"),))
    assert (none.verdict, none.words) == ("fail", "0 operators for namespace shop")
    two = found("operator", operators=(operator(), operator("shop")))
    assert two.words == "2 operators for namespace shop"


def test_the_rights_that_are_missing_are_named() -> None:
    lacking = found("rights", denied=(RIGHTS[0], RIGHTS[-1]))
    assert lacking.verdict == "fail"
    assert "create streampipelines.trimtab.dev, get configmaps in namespace shop" in lacking.words


def test_the_namespace_must_be_there_to_stay() -> None:
    assert found("namespace", home=None).todo == "kubectl create namespace shop"
    going = home(deletionTimestamp="2026-01-01T00:00:00Z")
    assert found("namespace", home=going).verdict == "fail"
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    assert "enforces restricted" in found("namespace", home=home(labels=labels)).words


def test_a_storage_class_is_the_default_or_named() -> None:
    slow = (storage("slow", default=False),)
    assert found("storage", classes=()).verdict == "fail"
    assert found("storage", classes=slow).verdict == "warn"
    assert found("storage", "slow", classes=slow).verdict == "ok"
    missing = found("storage", "fast", "slow", classes=slow)
    assert (missing.verdict, missing.words) == ("fail", "no StorageClass fast")


def test_the_metrics_are_as_the_operator_says() -> None:
    lost = told("True", metrics="False", reason="NoMetrics", message="no series")
    failing = found("metrics", pipelines=(FRESH, lost))
    assert failing.verdict == "fail"
    assert "of 1 of 2 pipelines: n/clicks NoMetrics: no series" in failing.words
    half = told("True", metrics="True", reason="FreshFromPrometheus", message="no route")
    assert found("metrics", pipelines=(FRESH, half)).verdict == "warn"
    starting = told("False", metrics="False", reason="NoMetrics")
    assert "no pipeline is Ready" in found("metrics", pipelines=(starting,)).words
    assert found("metrics", pipelines=(FRESH, starting)).verdict == "ok"


@pytest.mark.parametrize(("check", "field"), [
    ("CRDs", "crds"), ("operator", "operators"), ("namespace", "home"), ("storage", "classes"),
    ("quota", "quotas"), ("quota", "ranges"), ("metrics", "pipelines"),
])  # fmt: skip
def test_what_may_not_be_read_is_a_warning(check: str, field: str) -> None:
    unread = found(check, **{field: NOT_TOLD})
    assert (unread.verdict, unread.words) == ("warn", NOT_TOLD.words)


def test_as_text_one_line_each_and_as_json_an_object_each() -> None:
    findings = [Finding(Verdict.FAIL, "CRDs", "a\x1b[2J\nb", "do it")]
    assert as_text(findings) == "fail  CRDs  a [2J b: do it"
    assert json.loads(as_json(checked(GOOD, OURS)))[0] == {
        "check": "Kubernetes", "verdict": "ok", "message": "v1.35.4", "do": ""
    }  # fmt: skip

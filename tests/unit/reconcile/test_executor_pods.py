"""Executors that do not come: what the API server and the pods say, and what follows from it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.reconcile.stage import NAMESPACE, Stage, series

from trimtab.api.contract import EXECUTORS_ANNOTATION
from trimtab.reconcile.observe.executor_pods import RECENT_S, Cause, by_pipeline, cause

QUOTA = (
    "forbidden: exceeded quota: team, requested: requests.cpu=250m,requests.memory=900Mi,"
    " used: requests.cpu=3900m,requests.memory=2Gi, limited: requests.cpu=4,requests.memory=2Gi"
)
LABELS = {
    "app.kubernetes.io/managed-by": "trimtab",
    "trimtab.dev/component": "executor",
    "trimtab.dev/pipeline": "clicks",
}
SECURITY = 'forbidden: violates PodSecurity "restricted:latest": runAsNonRoot'
NOW_S = 1_800_000_000.0


def executor(number: int = 3, **status: Any) -> dict[str, Any]:
    meta = {"name": f"clicks-1f-exec-{number}", "namespace": NAMESPACE, "labels": LABELS}
    return {"kind": "Pod", "metadata": meta, "status": status}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    return executor(containerStatuses=[{"image": "jobs:7", "state": state}])


def ended(code: int, reason: str, at: str = "2027-01-15T08:00:00Z") -> dict[str, Any]:
    state = {"terminated": {"exitCode": code, "reason": reason, "finishedAt": at}}
    return executor(containerStatuses=[{"image": "jobs:7", "state": state}])


def not_installed(message: str) -> dict[str, Any]:
    at = "2027-01-15T08:00:00Z"
    state = {"terminated": {"exitCode": 1, "reason": "Error", "message": message, "finishedAt": at}}
    return executor(initContainerStatuses=[{"name": "packages", "image": "i", "state": state}])


def test_executors_whose_packages_are_not_installed() -> None:
    words = '{"reason": "PackagesNotInstalled", "message": "pip: no geo==3.0", "form": 2}'
    found = why(last_failed=not_installed(words))
    assert found.reason == "PackagesNotInstalled"
    assert found.message == "executor clicks-1f-exec-3: pip: no geo==3.0"
    assert not found.refused, "the index may come back"


def why(refused: str = "", *pods: Any, last_failed: Any = None) -> Cause:
    found = cause(refused, pods, last_failed, NOW_S)
    assert found is not None
    return found


def test_a_quota_is_named_with_what_it_lacks() -> None:
    found = why(QUOTA)
    assert (found.reason, found.refused) == ("QuotaExceeded", True)
    assert "ResourceQuota team" in found.message
    assert "requests.cpu 3900m of 4 used, an executor needs 250m, 150m too little" in found.message
    assert "requests.memory 2Gi of 2Gi used, an executor needs 900Mi, 900Mi too little" in (
        found.message
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (SECURITY, "PodSecurityViolated"),
        ("forbidden: ValidatingAdmissionPolicy 'p' denied request: no", "AdmissionDenied"),
        ('admission webhook "w" denied the request: no', "AdmissionDenied"),
        ("Operation: [create] for kind: [Pod] failed.", "ExecutorsRefused"),
    ],
)  # fmt: skip
def test_other_refusals_have_a_reason_and_keep_their_words(answer: str, reason: str) -> None:
    found = why(answer)
    assert (found.reason, found.refused) == (reason, True)
    assert answer in found.message


@pytest.mark.parametrize(
    ("pod", "reason", "refused"),
    [
        (waiting("ImagePullBackOff", "Back-off pulling jobs:7"), "ImageCannotStart", True),
        (waiting("ErrImagePull", "not found"), "ImageCannotStart", False),
        (waiting("CreateContainerConfigError", "no secret"), "ExecutorCannotStart", True),
        (executor(conditions=[{"type": "PodScheduled", "status": "False", "message": "0/3"}]),
         "Unschedulable", False),
    ],
)  # fmt: skip
def test_a_pod_that_waits_tells_why(pod: Any, reason: str, refused: bool) -> None:
    found = why("", executor(1, phase="Running"), pod)
    assert (found.reason, found.refused) == (reason, refused)
    assert "clicks-1f-exec-3" in found.message


def test_executors_that_fail_tell_how_for_a_while() -> None:
    now = NOW_S - 100
    found = cause("", [], ended(137, "OOMKilled"), now)
    assert found is not None
    assert "exit code 137 (OOMKilled): raise resources.executor.memory" in found.message
    assert cause("", [], ended(137, "OOMKilled"), now + RECENT_S + 101) is None


def test_pods_that_run_or_just_start_are_no_cause() -> None:
    starting = waiting("ContainerCreating")
    assert cause("", [executor(phase="Running"), starting], None, NOW_S) is None


def test_only_executor_pods_count_for_their_pipeline() -> None:
    driver = executor()
    driver["metadata"]["labels"] = LABELS | {"trimtab.dev/component": "driver"}
    assert by_pipeline([driver, executor(7)]) == {(NAMESPACE, "clicks"): [executor(7)]}


def raised() -> Stage:
    """A pipeline whose trial has asked for more executors."""
    stage = Stage.at_rest()
    for batch in (6, 7, 8):
        stage.overload(batch)
        stage.tick()
    assert stage.document()["settings"]["executors"] > 1
    return stage


def refuse(stage: Stage, answer: str = QUOTA, **status: Any) -> None:
    """The driver tells on its pod what the API server answered."""
    stage.run_driver(**status)
    pod = stage.get("Pod", "clicks-driver-0")
    pod["metadata"]["annotations"] |= {EXECUTORS_ANNOTATION: answer}
    stage.cluster.put(pod)


DOWN = {"conditions": [{"type": "Ready", "status": "False"}]}


@pytest.mark.parametrize("status", [{}, DOWN], ids=["driver up", "driver down"])
def test_a_refused_raise_is_put_back_at_the_next_tick(status: dict[str, Any]) -> None:
    stage = raised()
    refuse(stage, **status)
    stage.tick()
    assert stage.document()["settings"]["executors"] == 1
    told = stage.status()["decisions"][-1]
    assert (told["action"], told["reason"]) == ("Revert", "ExecutorsRefused")
    assert "ResourceQuota team has no room for an executor" in told["message"]


def test_a_refused_raise_is_put_back_without_metrics() -> None:
    stage = raised()
    stage.metrics.failure = "Prometheus does not answer"
    refuse(stage)
    stage.tick()
    assert stage.document()["settings"]["executors"] == 1


def test_missing_executors_are_a_condition_and_an_event() -> None:
    stage = Stage.at_rest()
    assert stage.condition("ExecutorsMissing") == ("False", "NoneMissing")
    refuse(stage)
    stage.see(series("clicks", stage.clock.now_s + 10, executors=0.0))
    stage.tick()
    assert stage.condition("ExecutorsMissing") == ("True", "QuotaExceeded")
    assert stage.condition("Ready") == ("False", "QuotaExceeded")
    told = [e for e in stage.cluster.events if "QuotaExceeded" in e]
    assert len(told) == 1
    stage.run_driver()
    stage.see(series("clicks", stage.clock.now_s + 10))
    stage.tick()
    assert stage.condition("ExecutorsMissing") == ("False", "NoneMissing")
    assert stage.condition("Ready") == ("True", "QueryRunning")


def test_a_query_with_some_executors_is_ready_and_says_what_is_missing() -> None:
    stage = raised()
    stage.see(series("clicks", stage.clock.now_s + 10))
    stage.cluster.put(waiting("ErrImagePull", "not found"))
    stage.tick()
    assert stage.condition("ExecutorsMissing") == ("True", "ImageCannotStart")
    assert stage.condition("Ready") == ("True", "QueryRunning")


def test_the_executor_that_failed_last_is_remembered_after_spark_has_deleted_it() -> None:
    stage = raised()
    pod = ended(1, "Error", at="1970-01-01T00:00:00Z")
    stage.loop.cache.observe(pod)
    stage.loop.cache.observe(pod, deleted=True)
    found = stage.loop.cache.failed_executor(NAMESPACE, "clicks")
    assert found == pod

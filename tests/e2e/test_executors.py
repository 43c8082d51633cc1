"""Executors that cannot come, and executors that others take away."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dev.demo.kube import DemoError
from tests.e2e.conftest import PLAIN, Stage, pipeline
from tests.faults.record import Row
from tests.long import LONG

from trimtab.api.contract import Executors
from trimtab.api.pod_user import PodUser
from trimtab.job.executors.pod_template import pod_template

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

EXECUTORS = ("-l", "trimtab.dev/component=executor")


def quota(stage: Stage, pods: int) -> None:
    """A ResourceQuota with room for so many pods."""
    stage.apply(
        {
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team"},
            "spec": {"hard": {"pods": str(pods)}},
        }
    )  # fmt: skip


def pods(stage: Stage, *selector: str) -> list[dict[str, Any]]:
    text = stage.kube.call("get", "pods", *selector, "-o", "json")
    found: list[dict[str, Any]] = json.loads(text)["items"]
    return found


def nodes(stage: Stage) -> set[str]:
    running = (p for p in pods(stage, *EXECUTORS) if "deletionTimestamp" not in p["metadata"])
    return {p["spec"]["nodeName"] for p in running if p["spec"].get("nodeName")}


def restarts(stage: Stage) -> int:
    (driver,) = pods(stage, "-l", "trimtab.dev/component=driver")
    return int(driver["status"]["containerStatuses"][0]["restartCount"])


@LONG
def test_executors_that_a_quota_refuses_are_named_and_the_query_runs_on(
    stage: Stage, fault: Row
) -> None:
    stage.apply(pipeline(transform=PLAIN, tuning={"pinned": {"executors": 3, "trigger": "2s"}}))
    stage.wait_ready()
    stage.wait_long("all executors", 120, lambda: len(pods(stage, *EXECUTORS)) == 3)
    stage.start_load([(600.0, 50.0)])
    stage.wait_long("the load runs", 60, lambda: bool(pods(stage, "-l", "job-name=load")))
    ended = {"Succeeded", "Failed"}  # a quota does not count them
    quota(stage, sum(each["status"]["phase"] not in ended for each in pods(stage)) - 1)
    (gone, *_) = pods(stage, *EXECUTORS)
    stage.kube.call("delete", "pod", gone["metadata"]["name"], "--grace-period=0", "--force")
    told = "2 of 3 executors run: the ResourceQuota team has no room for an executor"
    stage.wait_long(
        "the quota is named", 120,
        lambda: told in stage.condition("ExecutorsMissing").get("message", ""),
    )  # fmt: skip
    missing = stage.condition("ExecutorsMissing")
    assert missing["reason"] == "QuotaExceeded"
    assert "an executor needs 1, 1 too little" in missing["message"]
    assert stage.condition("Ready")["status"] == "True"
    batch = f'max(trimtab_batch_id{{namespace="{stage.kube.namespace}"}})'
    before = stage.metric(batch) or 0
    # Spark asks again each second: three failures used to end it
    stage.wait_long("batches go on", 120, lambda: (stage.metric(batch) or 0) > before + 10)
    refused = f'max(trimtab_executors_refused_total{{namespace="{stage.kube.namespace}"}})'
    assert (stage.metric(refused) or 0) > 6
    assert restarts(stage) == 0
    stage.kube.call("delete", "resourcequota", "team")
    stage.wait_long(
        "the executor comes", 120,
        lambda: stage.condition("ExecutorsMissing").get("status") == "False",
    )  # fmt: skip
    stage.next_step()
    result = stage.delivered()
    fault.lost = result["lost"]
    fault.said = f"ExecutorsMissing/QuotaExceeded: {missing['message']}"
    assert result["lost"] == 0


@LONG
def test_executors_that_are_forbidden_or_fit_no_node_are_named(stage: Stage, fault: Row) -> None:
    """First a LimitRange that comes while the query runs, then more memory than a node has."""
    stage.apply(pipeline(transform=PLAIN, tuning={"pinned": {"executors": 2, "trigger": "2s"}}))
    stage.wait_ready()
    stage.wait_long("all executors", 120, lambda: len(stage.executors()) == 2)
    stage.start_load([(900.0, 50.0)])
    stage.wait_long("the load runs", 60, lambda: bool(pods(stage, "-l", "job-name=load")))
    stage.apply(
        {
            "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"},
            "spec": {"limits": [{"type": "Container", "max": {"memory": "100Mi"}}]},
        }
    )  # fmt: skip
    (gone, *_) = stage.executors()
    stage.kube.call("delete", "pod", gone["metadata"]["name"], "--grace-period=0", "--force")
    refused = stage.wait_missing("ExecutorsRefused")
    assert "maximum memory usage per Container is 100Mi" in refused
    assert stage.condition("Ready")["status"] == "True", "the query runs on with the other"
    stage.kube.call("delete", "limitrange", "small")
    stage.wait_long("the executor comes", 120, lambda: len(stage.executors()) == 2)

    first = stage.uid("clicks-driver-0")
    large = pipeline(
        transform=PLAIN, tuning={"pinned": {"executors": 2, "trigger": "2s"}},
        resources={"executor": {"cores": 1, "memory": "900Gi"}},
    )  # fmt: skip
    stage.apply(large)
    stage.wait_replaced("clicks-driver-0", first)
    assert "Insufficient memory" in stage.wait_missing("Unschedulable")
    assert restarts(stage) == 0
    stage.apply(pipeline(transform=PLAIN, tuning={"pinned": {"executors": 2, "trigger": "2s"}}))
    stage.wait_long("executors of the old size", 300, lambda: len(stage.executors()) == 2)
    stage.next_step()
    result = stage.delivered(limit_s=300)
    fault.lost, fault.duplicated_planned = result["lost"], result["duplicated"]
    fault.said = f"ExecutorsMissing/ExecutorsRefused: {refused}"
    assert result["lost"] == 0


@LONG
def test_a_drained_node_loses_no_record_and_repeats_none(stage: Stage, fault: Row) -> None:
    stage.apply(pipeline(transform=PLAIN, tuning={"pinned": {"executors": 3, "trigger": "2s"}}))
    stage.wait_ready()
    stage.wait_long("all executors", 120, lambda: len(nodes(stage)) >= 2)
    stage.start_load([(900.0, 60.0)])
    batch = f'max(trimtab_batch_id{{namespace="{stage.kube.namespace}"}})'
    for node in sorted(nodes(stage))[:2]:
        before = stage.metric(batch) or 0
        stage.wait_long("batches go on", 120, lambda at=before: (stage.metric(batch) or 0) > at + 3)
        try:
            stage.kube.call(
                "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force",
                "--timeout=180s", "--pod-selector=trimtab.dev/component=executor", limit_s=200,
            )  # fmt: skip
            stage.wait_long("executors elsewhere", 180, lambda n=node: n not in nodes(stage))
        finally:
            stage.kube.call("uncordon", node)
    stage.apply(
        pipeline(
            transform=PLAIN, evictable=False, tuning={"pinned": {"executors": 3, "trigger": "2s"}}
        )
    )
    eviction = {
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": "clicks-driver-0", "namespace": stage.kube.namespace},
    }  # fmt: skip
    stage.wait_long("a budget", 60, lambda: stage.kube.get("pdb", "clicks-driver") is not None)
    path = f"/api/v1/namespaces/{stage.kube.namespace}/pods/clicks-driver-0/eviction"

    def kept() -> bool:
        dry = eviction | {"deleteOptions": {"dryRun": ["All"]}}
        try:
            stage.kube.call("create", "--raw", path, "-f", "-", text=json.dumps(dry))
        except DemoError as error:
            return "disruption budget" in str(error)
        return False

    stage.wait_long("the budget keeps the driver", 60, kept)
    stage.next_step()
    result = stage.delivered(limit_s=300)
    fault.lost, fault.duplicated_planned = result["lost"], result["duplicated"]
    assert (result["lost"], result["duplicated"]) == (0, 0)


def test_a_user_whom_the_image_does_not_know_can_log_in_to_hadoop(stage: Stage) -> None:
    user = PodUser(run_as_user=1000700000, run_as_group=0, fs_group=1000700000)
    pod = pod_template(Executors(image=stage.image, memory_bytes=10**9, pod_user=user), ())
    pod["metadata"] = {"name": "stranger"}
    pod["spec"]["restartPolicy"] = "Never"
    login = ["java", "-cp", "/opt/spark/jars/*", "org.apache.hadoop.security.UserGroupInformation"]
    pod["spec"]["containers"][0] |= {
        "name": "hadoop", "image": stage.image, "imagePullPolicy": "IfNotPresent", "args": login,
    }  # fmt: skip
    stage.apply(pod)
    stage.wait_long(
        "the login ended", 120,
        lambda: pods(stage, "--field-selector=metadata.name=stranger")[0]["status"]["phase"]
        in {"Succeeded", "Failed"},
    )  # fmt: skip
    said = stage.kube.call("logs", "stranger")
    stage.kube.call("delete", "pod", "stranger")
    assert "User: trimtab" in said, said

"""Planned changes on the real cluster: each knob moves as it should, with no duplicate, no loss."""

from __future__ import annotations

from pathlib import Path

import pytest
from dev.demo import load
from tests.e2e import package_index
from tests.e2e.conftest import PATIENCE, PLAIN, Json, Stage, pipeline
from tests.faults.record import Row
from tests.long import LONG

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]


def pinned(**values: object) -> dict[str, object]:
    return {
        "mode": "Auto",
        "pinned": values,
        "initial": {"executors": 1, "trigger": "2s", "maxOffsetsPerTrigger": 2500},
    }


def test_planned_changes_under_backlog_lose_and_duplicate_nothing(stage: Stage) -> None:
    """Executors up and down, the trigger, and the driver itself, while records pile up."""
    stage.apply(pipeline(tuning=pinned(executors=1, trigger="2s")))
    stage.wait_ready()
    stage.start_load([(900.0, 150.0)])
    driver = stage.uid("clicks-driver-0")
    stage.apply(pipeline(tuning=pinned(executors=3, trigger="2s")))
    stage.wait_effective(executors=3)
    running = 'max(trimtab_executors{{state="running",namespace="{}"}})'
    query = running.format(stage.kube.namespace)
    stage.wait("3 executors run", 180, lambda: stage.metric(query) == 3)
    stage.apply(pipeline(tuning=pinned(executors=3, trigger="1s")))
    stage.wait_effective(trigger="1s")
    stage.apply(pipeline(tuning=pinned(executors=2, trigger="1s")))
    stage.wait_effective(executors=2)
    stage.wait("2 executors run", 180, lambda: stage.metric(query) == 2)
    assert stage.uid("clicks-driver-0") == driver, "knobs restart no driver"
    held = 'max(container_memory_working_set_bytes{{container="{}",namespace="{}"}})'
    for container in ("driver", "spark-kubernetes-executor"):
        figure = held.format(container, stage.kube.namespace)
        stage.wait(
            f"the kubelet's figure of {container}", 120,
            lambda figure=figure: (stage.metric(figure) or 0) > 200e6,
        )  # fmt: skip
    stage.apply(pipeline(tuning=pinned(executors=2, trigger="1s"),
                         env=[{"name": "SOMETHING", "value": "new"}]))  # fmt: skip
    stage.wait_replaced("clicks-driver-0", driver)
    stage.wait_ready()
    stage.next_step()
    result = stage.delivered()
    assert result["lost"] == 0
    assert result["duplicated"] == 0
    assert result["delivered"] == result["produced"] > 1_000


def test_suspend_drains_and_resume_goes_on(stage: Stage) -> None:
    stage.apply(pipeline(tuning=pinned(executors=1, trigger="1s")))
    stage.wait_ready()
    stage.start_load([(600.0, 50.0)])
    stage.apply(pipeline(tuning=pinned(executors=1, trigger="1s"), suspend=True))
    stage.wait("driver gone", 180, lambda: stage.uid("clicks-driver-0") is None)
    assert stage.condition("Suspended")["status"] == "True"
    stage.apply(pipeline(tuning=pinned(executors=1, trigger="1s")))
    stage.wait_ready()
    stage.next_step()
    result = stage.delivered()
    assert (result["lost"], result["duplicated"]) == (0, 0)
    assert result["delivered"] > 0


def spare(stage: Stage) -> Json:
    """A copy of the driver's pod that no controller owns, adopts or deletes."""
    driver = stage.kube.get("pod", "clicks-driver-0") or {}
    spec = driver["spec"] | {"hostname": None, "subdomain": None}
    labels = {k: v for k, v in driver["metadata"]["labels"].items() if "statefulset" not in k}
    meta = {"name": "clicks-driver-spare", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


@LONG
def test_a_second_driver_stays_out_and_nothing_comes_twice(stage: Stage, fault: Row) -> None:
    """First of the StatefulSet, which trimtab scales back; then one that only the fence stops."""
    stage.apply(pipeline(transform=PLAIN, tuning=pinned(executors=1, trigger="1s")))
    stage.wait_ready()
    stage.start_load([(900.0, 60.0)])
    batch = f'max(trimtab_batch_id{{namespace="{stage.kube.namespace}"}})'

    def goes_on() -> None:
        before = stage.metric(batch) or 0
        stage.wait_long("batches go on", 120, lambda: (stage.metric(batch) or 0) > before + 5)

    goes_on()
    stage.kube.call("scale", "statefulset", "clicks-driver", "--replicas=2")
    stage.wait_long(
        "scaled back", 60,
        lambda: (stage.kube.get("statefulset", "clicks-driver") or {})["spec"]["replicas"] == 1,
    )  # fmt: skip
    stage.wait_long("the second is gone", 120, lambda: stage.uid("clicks-driver-1") is None)
    goes_on()

    stage.apply(spare(stage))
    words = "the driver in pod clicks-driver-0 uses the checkpoint"
    stage.wait_long(
        "the second stays out", 120,
        lambda: words in stage.kube.call("logs", "clicks-driver-spare", check=False),
    )  # fmt: skip
    goes_on()
    stage.kube.call("delete", "pod", "clicks-driver-spare")
    stage.wait_ready()
    stage.next_step()
    result = stage.delivered()
    fault.lost, fault.duplicated_planned = result["lost"], result["duplicated"]
    fault.said = f"CheckpointInUse: {words}, and two would write every record twice"
    assert (result["lost"], result["duplicated"]) == (0, 0)
    assert result["delivered"] > 0


def test_what_is_added_to_pods_is_on_drivers_and_executors(stage: Stage) -> None:
    high = {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "streams"}, "value": 1000, "description": "of a test",
    }  # fmt: skip
    spot = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
    terms = [{"matchExpressions": [{"key": "kubernetes.io/os", "operator": "Exists"}]}]
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
        }
    }
    stage.apply(high)
    added = {
        "priorityClassName": "streams", "tolerations": [spot], "affinity": affinity,
        "labels": {"team": "data"}, "annotations": {"example.com/evict": "no"},
        "imagePullSecrets": [{"name": "registry"}],
    }  # fmt: skip
    stage.apply(
        pipeline(transform=PLAIN, podTemplate=added, tuning=pinned(executors=1, trigger="1s"))
    )
    stage.wait_ready()
    stage.wait_long("the executor", 120, lambda: len(stage.executors()) == 1)
    for pod in (stage.kube.get("pod", "clicks-driver-0") or {}, *stage.executors()):
        spec, meta = pod["spec"], pod["metadata"]
        assert (spec["priorityClassName"], spec["priority"]) == ("streams", 1000)
        assert spot in spec["tolerations"]
        assert spec["affinity"] == affinity
        assert spec["imagePullSecrets"] == [{"name": "registry"}]
        assert meta["labels"]["team"] == "data"
        assert meta["annotations"]["example.com/evict"] == "no"
    (executor,) = stage.executors()
    assert executor["spec"]["serviceAccountName"] == "trimtab-executor-clicks"
    seen = stage.kube.call(
        "exec", executor["metadata"]["name"], "--", "sh", "-c", "ls -d /run/secrets || echo none"
    )
    assert seen.strip().endswith("none"), "no token of the API server"
    stage.kube.call("delete", "priorityclass", "streams")


@LONG
def test_files_are_mounted_once_they_are_there_and_each_role_has_its_own(stage: Stage) -> None:
    """A ConfigMap that comes late, a folder of scratch, a label of the executors, the web UI."""
    asked = [
        {"name": "lookup", "mountPath": "/mnt/lookup", "configMap": {"name": "lookup"}},
        {"name": "cache", "mountPath": "/mnt/cache", "emptyDir": {"sizeLimit": "64Mi"}},
    ]
    stage.apply(
        pipeline(
            transform=PLAIN, volumes=asked, sparkUI={"enabled": True},
            podTemplate={"labels": {"tier": "both"}, "executor": {"labels": {"tier": "spot"}}},
            tuning=pinned(executors=1, trigger="1s"),
        )
    )  # fmt: skip
    assert "ConfigMap 'lookup' does not exist" in stage.wait_stalled("VolumeMissing")
    lookup = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "lookup"}}
    stage.apply(lookup | {"data": {"countries": "de"}})
    stage.wait_ready()
    stage.wait_long("the executor", 120, lambda: len(stage.executors()) == 1)
    (executor,) = stage.executors()
    driver = stage.kube.get("pod", "clicks-driver-0") or {}
    assert driver["metadata"]["labels"]["tier"] == "both"
    assert executor["metadata"]["labels"]["tier"] == "spot"
    for pod in (driver, executor):
        look = "cat /mnt/lookup/countries && touch /mnt/cache/x && echo written"
        seen = stage.kube.call("exec", pod["metadata"]["name"], "--", "sh", "-c", look)
        assert seen.split() == ["dewritten"], pod["metadata"]["name"]
    shown = "import urllib.request as r; print(r.urlopen('http://localhost:4040/jobs/').status)"
    said = stage.kube.call("exec", "clicks-driver-0", "--", "/opt/trimtab/bin/python", "-c", shown)
    assert said.strip() == "200"
    assert (stage.kube.get("service", "clicks-ui") or {})["spec"]["type"] == "ClusterIP"


def test_a_run_takes_on_what_is_there_and_stops(stage: Stage) -> None:
    """Twice, the second time because an annotation says so; between them nothing runs."""
    for number in ("1", "2"):
        stage.start_load([(10.0, 200.0)])
        stage.wait_long("the load", 60, lambda: load.finished(stage.kube, "load"))
        made = load.result(stage.kube, "load")
        if number == "1":
            stage.apply(pipeline(transform=PLAIN, runs={}, tuning=pinned(executors=1)))
        else:
            stage.kube.call("annotate", "spl", "clicks", f"trimtab.dev/run={number}")
            stage.wait_long("it runs again", 60, lambda: run_of(stage).get("phase") == "Running")
        stage.wait_long("the run ends", 240, lambda: run_of(stage).get("end") == "Drained")
        stage.wait_long("no driver", 90, lambda: stage.uid("clicks-driver-0") is None)
        assert stage.condition("Suspended")["reason"] == "RunEnded"
        result = load.verify(stage.kube, stage.image, made, PATIENCE * 120)
        assert (result["lost"], result["duplicated"]) == (0, 0)
        assert result["delivered"] == made["acknowledged"] == 2000
    events = stage.kube.call("get", "events", "-o", "jsonpath={.items[*].reason}").split()
    assert {"RunStarted", "RunDrained"} <= set(events)


PLACED = """
import geo
from pyspark.sql import functions as F

@F.udf("string")
def place(value):
    import geo
    return value.decode() + geo.VERSION

def transform(df, params):
    return df.select("key", place("value").alias("value"))
"""


@LONG
def test_packages_are_installed_in_driver_and_executors(stage: Stage, tmp_path: Path) -> None:
    """From an index in the cluster; a wrong hash is told."""
    line = package_index.serve(stage, tmp_path, "geo")
    code = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "placed"}}
    lines = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "clicks-packages"}}
    stage.apply(code | {"data": {"placed.py": PLACED}})
    stage.apply(lines | {"data": {"requirements.txt": line[:-3] + "00\n"}})
    python = {
        "module": "placed:transform", "configMap": "placed",
        "requirements": {"configMap": {"name": "clicks-packages"}},
    }  # fmt: skip
    stage.apply(pipeline(transform={"python": python}, tuning=pinned(executors=1, trigger="1s")))
    said = stage.wait_stalled("PackagesNotInstalled", 240)
    assert "HASHES" in said.upper()
    stage.apply(lines | {"data": {"requirements.txt": line}})
    stage.wait_ready()
    stage.start_load([(5.0, 100.0)])
    stage.wait_long("the load", 60, lambda: load.finished(stage.kube, "load"))
    committed = f'sum(trimtab_records_total{{namespace="{stage.kube.namespace}"}})'
    stage.wait_long("all are committed", 120, lambda: (stage.metric(committed) or 0) >= 500)
    (executor,) = stage.executors()
    for pod in ("clicks-driver-0", executor["metadata"]["name"]):
        seen = stage.kube.call("exec", pod, "--", "ls", "/var/lib/trimtab/packages")
        assert "geo.py" in seen.split(), pod


def run_of(stage: Stage) -> Json:
    found: Json = stage.status().get("run") or {}
    return found

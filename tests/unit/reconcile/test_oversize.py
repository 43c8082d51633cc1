"""A batch planned too large for the memory: told, kept over the driver's death, and cured."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.reconcile.stage import POD, Stage, series
from tests.unit.workloads.manifests import Json

from trimtab.cli.explain import explain

LARGE = {"batch_running_id": 17, "batch_running_records": 120_000, "batch_running_seconds": 60.0}
ROOM = {"executors": {"min": 1, "max": 2}, "memory": "8Gi", "driverMemory": "4Gi"}


def dead(stage: Stage, reason: str = "OOMKilled", message: str = "") -> None:
    """The driver's container has ended, and waits to be started again in the same pod."""
    ended = {"exitCode": 137, "reason": reason, "message": message}
    container = {"name": "driver", "image": "pipeline:1", "state": {"terminated": ended}}
    template = stage.get("StatefulSet", "clicks-driver")["spec"]["template"]
    live = stage.cluster.objects.get(POD, {"metadata": {}, "spec": template["spec"]})
    meta = {**template["metadata"], "name": "clicks-driver-0", "namespace": "n"}
    stage.cluster.put({"kind": "Pod", "metadata": live["metadata"] or meta,
                       "spec": live.get("spec", template["spec"]),
                       "status": {"containerStatuses": [container]}})  # fmt: skip


def runs(stage: Stage, replays: int, **values: Any) -> None:
    stage.see(series("clicks", stage.clock.now_s + 10, batch_running_replays=replays,
                     **(LARGE | values)))  # fmt: skip
    stage.tick()


def told(stage: Stage, reason: str = "PlannedOversize") -> list[str]:
    return [message for kind, message in stage.cluster.events if kind == reason]


def limit(stage: Stage) -> int:
    found: int = stage.document()["settings"]["maxOffsetsPerTrigger"]
    return found


def test_it_is_told_once_and_again_when_it_has_become_the_cause() -> None:
    stage = Stage.at_rest()
    before = limit(stage)
    for _ in range(3):
        runs(stage, 1)
    assert len(told(stage)) == 1
    assert stage.status()["oversize"] == {
        "batch": 17, "records": 120_000, "limit": before, "replays": 1,
    }  # fmt: skip
    assert stage.condition("Tuning") == ("True", "PlannedOversize")
    assert "no limit changes it" in explain(stage.get("StreamPipeline", "clicks"))
    for replays in (2, 3):
        runs(stage, replays)
    assert len(told(stage)) == 2
    assert "more memory" in told(stage)[-1]
    assert limit(stage) == before
    runs(stage, 0, batch_running_records=2000)
    assert stage.status().get("oversize") is None


@pytest.mark.parametrize(
    ("reason", "message", "role"),
    [
        ("OOMKilled", "", "driver"),
        ("Error", '{"reason": "ExecutorOutOfMemory", "message": "an executor"}', "executor"),
    ],
)
def test_a_death_for_want_of_memory_in_it_asks_for_memory(
    reason: str, message: str, role: str
) -> None:
    stage = Stage.at_rest()
    stage.edit("limits", ROOM)
    stage.tick()
    runs(stage, 2)
    stage.see()
    dead(stage, reason, message)
    stage.tick()
    (stalled,) = [c for c in stage.status()["conditions"] if c["type"] == "Stalled"]
    assert "batch 17 was planned with 120,000 records" in stalled["message"]
    assert stage.status()["oversize"]["batch"] == 17, "a driver that is down says nothing new"
    advice: Json = stage.status()["jvm"][role]
    assert advice["memory"] == {"driver": "3Gi", "executor": "1800Mi"}[role]
    assert "ran out of" in advice["reason"]


def test_a_driver_that_is_down_for_memory_is_made_anew_with_what_the_limit_allows() -> None:
    stage = Stage.at_rest()
    stage.edit("limits", ROOM)
    stage.tick()
    stage.see()
    pod = stage.get("StatefulSet", "clicks-driver")["spec"]["template"]["spec"]
    stage.cluster.put(stage.get("Pod", "clicks-driver-0") | {"spec": pod})
    dead(stage)
    stage.tick()
    assert ("delete", POD) not in stage.cluster.writes, "first the advice, then the template"
    stage.tick()
    assert ("delete", POD) in stage.cluster.writes
    template = stage.get("StatefulSet", "clicks-driver")["spec"]["template"]
    assert template["spec"]["containers"][0]["resources"]["limits"]["memory"] == "3Gi"
    stage.cluster.objects.pop(POD, None)
    dead(stage)
    for _ in range(3):
        stage.tick()
        assert ("delete", POD) not in stage.cluster.writes, "it has all that is advised"


def test_without_room_it_is_said_and_no_pod_is_touched() -> None:
    stage = Stage.at_rest()
    pod = stage.get("StatefulSet", "clicks-driver")["spec"]["template"]["spec"]
    stage.cluster.put(stage.get("Pod", "clicks-driver-0") | {"spec": pod})
    dead(stage)
    stage.see()
    for _ in range(3):
        stage.tick()
        assert ("delete", POD) not in stage.cluster.writes
    assert "limits.driverMemory must say" in explain(stage.get("StreamPipeline", "clicks"))

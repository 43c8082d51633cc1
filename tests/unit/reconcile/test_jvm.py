"""Advice on the JVMs: it stands in the status, and the next driver has it; it restarts none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.reconcile.stage import NAMESPACE, PARENT, Stage, jvm_series, series
from tests.unit.workloads.manifests import Json

from trimtab.api.contract import Job
from trimtab.ports import Sample
from trimtab.workloads.common import MANAGED_BY

MIB = 1 << 20
HEAP = 516 * MIB  # of an executor's pod of 900Mi
OFTEN = {"new": (300.0, 9.0)}  # every 2 s for 30 ms
CALM = {"new": (30.0, 0.3)}
ROOM = {"executors": {"min": 1, "max": 4}, "memory": "24Gi", "driverMemory": "4Gi"}


@pytest.fixture
def stage() -> Stage:
    made = Stage()
    made.edit("limits", ROOM)
    made.running()
    return made


def look(stage: Stage, *told: Json) -> None:
    """A tick that sees the JVMs as told, beside a pipeline at rest."""
    stage.see(series("clicks", stage.clock.now_s + 10), *told)
    stage.tick()


def executors(heap: float = HEAP, **seen: Any) -> Json:
    return jvm_series("clicks", "executor", heap, **(seen or OFTEN))


def job(stage: Stage) -> Job:
    return Job.from_json(stage.get("ConfigMap", "clicks-job")["data"]["job.json"])


def pod_memory(stage: Stage) -> int:
    found = job(stage).executors
    assert found
    return found.memory_bytes


def driver(stage: Stage) -> Json:
    spec: Json = stage.get("StatefulSet", "clicks-driver")["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    return container


def advice(stage: Stage, role: str = "executor") -> Json:
    return {k: v for k, v in stage.status().get("jvm", {}).get(role, {}).items() if v}


def children(stage: Stage) -> dict[str, str]:
    """Every object but the pipeline, as text."""
    objects = stage.cluster.objects.items()
    return {"/".join(key): json.dumps(live).lower() for key, live in objects if key != PARENT}


def told(stage: Stage) -> list[str]:
    """The Events on JVMs."""
    return [message for reason, message in stage.cluster.events if reason == "JvmAdvice"]


def test_a_pipeline_whose_collections_meet_the_targets_is_left_as_it_is(stage: Stage) -> None:
    before = children(stage)
    look(stage, executors(**CALM))
    look(stage, executors(**CALM))
    assert "jvm" not in stage.status()
    assert stage.cluster.writes == []
    assert children(stage) == before
    (job,) = (key for key in before if key.startswith("ConfigMap/n/clicks-job"))
    assert "java" not in before[job] + before["StatefulSet/n/clicks-driver"]


def test_advice_is_told_and_waits_for_the_next_driver(stage: Stage) -> None:
    inputs = stage.get("Pod", "clicks-driver-0")["metadata"]
    look(stage, executors())
    given = advice(stage)
    # 300 times 137.6 MiB in 600 s are 68.8 MiB/s: 860 MiB of new generation, 2150 MiB of heap
    assert (given["memory"], given["newGeneration"]) == ("2688Mi", "860Mi")
    assert "collected every 2 s" in given["reason"]
    assert stage.cluster.writes == [("status", PARENT)], "the status is ahead of the children"
    assert told(stage)
    look(stage, executors())
    assert pod_memory(stage) == 2688 * MIB
    found = job(stage).executors
    assert found
    assert found.java_options == "-XX:NewSize=860m -XX:MaxNewSize=860m"
    assert stage.get("Pod", "clicks-driver-0")["metadata"] == inputs
    assert stage.condition("Ready") == ("True", "QueryRunning")
    look(stage, executors())
    assert stage.cluster.writes == []
    assert len(told(stage)) == 1


def test_advice_in_force_stands_although_the_targets_are_met_now(stage: Stage) -> None:
    look(stage, executors())
    given = advice(stage)
    for _ in range(2):
        look(stage, executors(2150 * MIB, **CALM, jvm_new_generation_bytes=860 * MIB))
    assert advice(stage) == given
    assert pod_memory(stage) == 2688 * MIB


@pytest.mark.parametrize(
    ("path", "value"), [("tuning.mode", "Recommend"), ("tuning.mode", "Observe"),
                        ("tuning.jvm", {"executor": False}), ("limits.memory", None)],
)  # fmt: skip
def test_where_it_may_not_be_applied_it_is_only_said(stage: Stage, path: str, value: Any) -> None:
    stage.edit(path, value)
    for _ in range(2):
        look(stage, executors())
    assert advice(stage)["memory"] == "2688Mi"
    assert "not applied" in told(stage)[-1]
    assert pod_memory(stage) == 900 * MIB
    found = job(stage).executors
    assert found
    assert found.java_options is None


def test_it_never_takes_more_than_the_limit_leaves_each_executor(stage: Stage) -> None:
    stage.edit("limits.memory", "8Gi")
    for _ in range(2):
        look(stage, executors())
    assert advice(stage)["memory"] == "2Gi"
    assert "limits.memory allows 2048 MiB of 2688 MiB each" in advice(stage)["reason"]
    assert pod_memory(stage) == 2048 * MIB
    stage.edit("limits.memory", "6Gi")
    look(stage, executors())
    assert pod_memory(stage) == 1536 * MIB
    stage.edit("limits.memory", "3600Mi")
    look(stage, executors())
    assert pod_memory(stage) == 900 * MIB, "what a person wrote is the least"


def test_a_person_who_gives_as_much_ends_the_advice(stage: Stage) -> None:
    look(stage, executors())
    stage.edit("resources", {"executor": {"memory": "3Gi"}})
    look(stage)
    assert advice(stage) == {}
    assert pod_memory(stage) == 3072 * MIB


def test_advice_does_not_follow_every_wobble(stage: Stage) -> None:
    look(stage, executors())
    given = advice(stage)
    for count in (280.0, 330.0, 300.0, 290.0):
        look(stage, executors(new=(count, count * 0.03)))
    assert advice(stage) == given
    look(stage, executors(new=(500.0, 15.0)))
    assert advice(stage) != given


def test_pauses_of_many_slots_ask_for_another_collector(stage: Stage) -> None:
    stage.edit("resources", {"executor": {"cores": 4, "memory": "900Mi"}})
    for _ in range(2):
        look(stage, executors(new=(30.0, 2.4)))
    assert advice(stage)["collector"] == "Parallel"
    found = job(stage).executors
    assert found
    assert (found.java_options, found.memory_bytes) == ("-XX:+UseParallelGC", 900 * MIB)


def test_the_driver_has_a_limit_of_its_own(stage: Stage) -> None:
    seen = jvm_series("clicks", "driver", 1000 * MIB, **OFTEN, jvm_heap_live_bytes=80.0 * MIB)
    labels = seen["jvm_seconds"][0].labels
    seen["jvm_allocated"] = [Sample(labels, 600 * 80.0 * MIB)]
    runs = {"__name__": "trimtab_jvm_collector", "collector": "Serial"}
    seen["gauges"].append(Sample(labels | runs, 1.0))
    restarted = stage.get("Pod", "clicks-driver-0")
    for _ in range(2):
        look(stage, seen)
    given = advice(stage, "driver")
    assert (given["memory"], given["newGeneration"]) == ("3136Mi", "1000Mi")
    container = driver(stage)
    assert container["resources"]["limits"] == {"memory": "3136Mi"}
    env = {e["name"]: e.get("value") for e in container["env"]}
    assert env["TRIMTAB_DRIVER_MEMORY_BYTES"] == str(3136 * MIB)
    assert env["TRIMTAB_DRIVER_JAVA_OPTIONS"] == "-XX:NewSize=1000m -XX:MaxNewSize=1000m"
    assert stage.get("Pod", "clicks-driver-0") == restarted
    stage.edit("limits.driverMemory", "2Gi")
    look(stage, seen)
    assert driver(stage)["resources"]["limits"] == {"memory": "2Gi"}
    stage.edit("limits.driverMemory", None)
    look(stage, seen)
    assert driver(stage)["resources"]["limits"] == {"memory": "1536Mi"}


def test_a_restarted_operator_goes_on_from_the_status(stage: Stage) -> None:
    look(stage, executors())
    given = advice(stage)
    stage.start_operator()
    stage.see()  # no metrics at all
    stage.tick()
    assert advice(stage) == given
    assert pod_memory(stage) == 2688 * MIB


def test_a_restart_for_another_reason_brings_it(stage: Stage) -> None:
    for _ in range(2):
        look(stage, executors())
    stage.edit("drainTimeout", "30s")
    look(stage, executors())
    assert not stage.has("Pod", "clicks-driver-0")
    assert pod_memory(stage) == 2688 * MIB


def test_words_alone_go_with_what_they_are_for(stage: Stage) -> None:
    seen = jvm_series("clicks", "driver", 4096 * MIB, **CALM, jvm_heap_live_bytes=80.0 * MIB)
    labels = seen["jvm_seconds"][0].labels
    seen["jvm_allocated"] = [Sample(labels, 600 * 4.0 * MIB)]
    look(stage, seen)
    assert "may be lowered" in advice(stage, "driver")["reason"]
    seen["jvm_collections"] = [Sample(labels | {"generation": "new"}, 30.0)]
    seen["jvm_collection_s"] = [Sample(labels | {"generation": "new"}, 2.4)]
    look(stage, seen)
    assert "takes 80 ms" in advice(stage, "driver")["reason"]
    seen["jvm_collection_s"] = [Sample(labels | {"generation": "new"}, 0.3)]
    seen["jvm_allocated"] = [Sample(labels, 600 * 100.0 * MIB)]
    look(stage, seen)
    assert advice(stage, "driver") == {}


def held(mib: float, pod: str = "clicks-0123456789abcdef-exec-1") -> Json:
    """What the kubelets say of a pod: their series know its name and no pipeline."""
    return {"executor_memory": [Sample({"namespace": NAMESPACE, "pod": pod}, mib * MIB)]}


def run_executor(stage: Stage, name: str = "clicks-0123456789abcdef-exec-1", **of: str) -> None:
    """An executor of clicks, or of the pipeline that `pipeline` names, as Spark makes it."""
    owner = {"trimtab.dev/pipeline": "clicks", "trimtab.dev/component": "executor"}
    labels = MANAGED_BY | owner | {f"trimtab.dev/{key}": value for key, value in of.items()}
    meta = {"name": name, "namespace": NAMESPACE, "labels": labels}
    stage.cluster.put({"kind": "Pod", "metadata": meta})


def test_where_the_limit_cuts_the_heap_gives_way_and_not_what_is_beside_it(stage: Stage) -> None:
    """The heap would have 2150 MiB, of which the limit leaves 1440: the workers need 608."""
    run_executor(stage)
    stage.edit("limits.memory", "8Gi")
    busy = executors(**OFTEN, jvm_heap_peak_bytes=350.0 * MIB)
    look(stage, busy, held(880))
    given = advice(stage)
    assert (given["memory"], given["overhead"]) == ("2Gi", "608Mi")
    look(stage, busy, held(880))
    found = job(stage).executors
    assert found
    assert (found.memory_bytes, found.overhead_bytes) == (2048 * MIB, 608 * MIB)
    new = int(given["newGeneration"].removesuffix("Mi"))
    assert new <= 0.4 * (2048 - 608)
    assert found.java_options == f"-XX:NewSize={new}m -XX:MaxNewSize={new}m"


def test_python_workers_get_room_beside_the_heap(stage: Stage) -> None:
    calm = executors(**CALM, jvm_heap_peak_bytes=350.0 * MIB)
    run_executor(stage)
    look(stage, calm, held(620))
    assert advice(stage) == {}
    look(stage, calm, held(880))
    given = advice(stage)
    assert (given["memory"], given["overhead"]) == ("1124Mi", "608Mi")
    assert "1124Mi, 608Mi outside the heap" in told(stage)[-1]
    look(stage, calm, held(880))
    found = job(stage).executors
    assert found
    assert (found.memory_bytes, found.overhead_bytes) == (1124 * MIB, 608 * MIB)
    assert advice(stage) == given, "it stands once it is enough"
    stage.edit("limits.memory", "4000Mi")
    look(stage, calm, held(880))
    found = job(stage).executors
    assert found
    assert (found.memory_bytes, found.overhead_bytes) == (1000 * MIB, None)


@pytest.mark.parametrize(
    ("pod", "of"),
    [
        # Spark writes a--b as a-b, so the name of a pod does not tell whose it is
        ("clicks-fedcba9876543210-exec-1", {"pipeline": "clicks--"}),
        ("clicks-driver-0", {"pipeline": "clicks-driver", "component": "driver"}),
        ("clicks-fedcba9876543210-exec-1", {"component": "other"}),
        ("clicks-fedcba9876543210-exec-1", None),
    ],
)
def test_the_pods_of_others_do_not_count(stage: Stage, pod: str, of: dict[str, str] | None) -> None:
    calm = executors(**CALM, jvm_heap_peak_bytes=350.0 * MIB)
    run_executor(stage)
    if of is not None:
        run_executor(stage, pod, **of)
    look(stage, calm, held(620), held(880, pod))
    assert advice(stage) == {}


def test_the_largest_of_the_executors_counts(stage: Stage) -> None:
    calm = executors(**CALM, jvm_heap_peak_bytes=350.0 * MIB)
    other = "clicks-fedcba9876543210-exec-2"
    run_executor(stage)
    run_executor(stage, other)
    look(stage, calm, held(880, other), held(620))
    assert advice(stage)["overhead"] == "608Mi"

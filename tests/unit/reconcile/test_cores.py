"""Cores of an executor: a choice of the tuner is a driver restart, and stands in no spec."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.reconcile.stage import POD, Stage, series
from tests.unit.workloads.manifests import example

from trimtab.api.contract import Job
from trimtab.api.reasons import Reason
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.cli.explain import explain
from trimtab.tuning.advice.pods import with_cores

LIMITS = {"executors": {"min": 1, "max": 2}, "executorCores": 4}


@pytest.fixture
def stage() -> Stage:
    """Two executors at work, the most that there may be, with far more coming in."""
    made = Stage()
    initial = {"executors": 2, "trigger": "5s", "maxOffsetsPerTrigger": 2500}
    tuning = {"initial": initial, "dwell": {"up": 2, "down": 6}}
    made.put_pipeline("clicks", limits=LIMITS, tuning=tuning)
    made.running()
    return made


def executors(stage: Stage) -> Any:
    job = Job.from_json(stage.get("ConfigMap", "clicks-job")["data"]["job.json"])
    assert job.executors
    return job.executors


def overload(stage: Stage, batch: int, **values: Any) -> None:
    stage.overload(batch, **({"executors": 2.0, "batch_executors_min": 2,
                              "batch_duration_seconds": 12.0} | values))  # fmt: skip
    stage.tick()


def until_raised(stage: Stage) -> int:
    for batch in range(20, 30):
        overload(stage, batch)
        cores = stage.status()["controller"]["settings"].get("cores")
        if cores:
            return int(cores)
    raise AssertionError(stage.status()["conditions"])


def test_the_next_driver_has_the_cores_and_a_slot_keeps_its_share(stage: Stage) -> None:
    before = executors(stage)
    spec = stage.get("StreamPipeline", "clicks")["spec"]
    cores = until_raised(stage)
    assert stage.status()["decisions"][-1]["reason"] == Reason.CORES_RAISED
    generation = stage.status()["controller"]["generation"]
    trial = stage.status()["controller"]["trial"]
    overload(stage, 40, batch_settings_generation=generation, settings_generation=generation)
    assert ("delete", POD) in stage.cluster.writes
    assert stage.status()["controller"]["trial"] == trial, "the old driver is no part of the trial"
    after = executors(stage)
    assert (before.cores, after.cores) == (1, cores)
    assert after.memory_bytes == before.memory_bytes * cores
    assert after.cpu_request == f"{int(before.cpu_request[:-1]) * cores}m"
    assert stage.get("StreamPipeline", "clicks")["spec"] == spec
    assert "cores" not in str(stage.document()["settings"])


def test_the_choice_is_kept_by_a_new_operator_and_ends_with_the_leave(stage: Stage) -> None:
    cores = until_raised(stage)
    overload(stage, 40)
    stage.start_operator()
    stage.run_driver()
    stage.see(series("clicks", stage.clock.now_s + 10, executors=2.0, batch_executors_min=2))
    stage.tick()
    assert executors(stage).cores == cores
    assert f"executor.cores unset -> {cores}" in explain(stage.get("StreamPipeline", "clicks"))
    stage.edit("limits.executorCores", None)
    stage.tick()
    stage.tick()
    assert executors(stage).cores == 1
    assert ("delete", POD) in stage.cluster.writes or not stage.has("Pod", "clicks-driver-0")


def test_an_edit_of_cores_restarts_the_driver_and_nothing_else_does(stage: Stage) -> None:
    uid = stage.get("Pod", "clicks-driver-0")["metadata"].get("uid")
    stage.edit("limits.executorCores", 3)
    stage.tick()
    assert stage.get("Pod", "clicks-driver-0")["metadata"].get("uid") == uid
    stage.edit("resources.executor.cores", 2)
    stage.tick()
    assert ("delete", POD) in stage.cluster.writes
    assert executors(stage).cores == 2


@pytest.mark.parametrize(("given", "cpu", "memory"), [(None, "100m", 900), (3, "300m", 2700)])
def test_a_wider_executor(given: int | None, cpu: str, memory: int) -> None:
    spec = StreamPipelineSpec.model_validate(example("pipeline")["spec"])
    wide = with_cores(spec, given).resources.executor
    assert (wide.cpu_request, wide.memory >> 20) == (cpu, memory)

"""What a pipeline has reserved: it grows with time, is written with decisions, and ends with it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.reconcile.stage import Stage, series
from tests.unit.reconcile.test_policies import put, run, started
from tests.unit.workloads.manifests import CONFIG

from trimtab.cli.explain import explain
from trimtab.settings import Pricing

EXECUTOR_CORES, DRIVER_CORES = 0.1, 0.2
GIB = float(1 << 30)
NAME = ("n", "clicks")


def reading(stage: Stage, name: str) -> float:
    (found,) = (r.value for r in stage.telemetry.pipelines[NAME] if r.name == name)
    return found


def idle(stage: Stage, ticks: int) -> None:
    for _ in range(ticks):
        stage.tick()


def test_it_grows_by_what_is_reserved_without_a_write() -> None:
    stage = Stage.at_rest()
    before = reading(stage, "executor_seconds")
    for _ in range(6):
        stage.see(series("clicks", stage.clock.now_s + 10))
        stage.tick()
        assert stage.cluster.writes == []
    assert reading(stage, "executor_seconds") - before == 60.0
    assert reading(stage, "core_seconds") == pytest.approx(
        reading(stage, "executor_seconds") * (EXECUTOR_CORES + DRIVER_CORES)
    )
    assert reading(stage, "memory_byte_seconds") > 0


def test_a_decision_changes_the_pace_and_a_new_operator_goes_on() -> None:
    stage = started("clicks")
    run(stage, "clicks")
    executors = stage.document()["settings"]["executors"]
    assert executors > 1
    stage.start_operator()
    stage.tick()
    before = reading(stage, "executor_seconds")
    stage.clock.now_s += 3590  # nobody looks for an hour
    stage.tick()
    assert reading(stage, "executor_seconds") - before == pytest.approx(3600.0 * executors)


def test_a_suspended_pipeline_reserves_nothing() -> None:
    stage = started("clicks")
    stage.edit("suspend", True)
    idle(stage, 2)
    before = reading(stage, "core_seconds")
    idle(stage, 3)
    assert reading(stage, "core_seconds") == before
    assert stage.status()["cost"]["now"] == "0 cores, 0.00 GiB"


def test_the_static_peak_is_what_the_highest_input_needs_and_no_more_than_was_enough() -> None:
    stage = started("clicks")
    run(stage, "clicks", ticks=8)
    spent = stage.status()["controller"]["spent"]
    assert spent["peak"] > 1
    executors, seconds = min(spent["peak"], spent["most"]), reading(stage, "core_seconds")
    run_s = (seconds - EXECUTOR_CORES * reading(stage, "executor_seconds")) / DRIVER_CORES
    static = (DRIVER_CORES + executors * EXECUTOR_CORES) * run_s
    assert reading(stage, "static_core_seconds") == pytest.approx(static)
    assert stage.status()["cost"]["staticExecutors"] == executors


def test_prices_make_money_of_it() -> None:
    stage = started("clicks")
    stage.start_operator(replace(CONFIG, pricing=Pricing(cpu_hour=36.0, gib_hour=3.6)))
    idle(stage, 2)
    cores, memory = reading(stage, "core_seconds"), reading(stage, "memory_byte_seconds")
    assert reading(stage, "cost") == pytest.approx(cores * 0.01 + memory / GIB * 0.001)
    assert reading(stage, "cost_per_hour") > 36.0 * DRIVER_CORES
    run(stage, "clicks")
    assert "an hour for one executor" in stage.status()["cost"]["money"]


def test_a_recommendation_says_what_its_executors_cost_beside_those_of_now() -> None:
    stage = started("clicks")
    put(stage, "team", mode="Recommend")
    stage.start_operator(replace(CONFIG, pricing=Pricing(cpu_hour=10.0, gib_hour=0.0)))
    run(stage, "clicks")
    told = stage.status()
    then = told["recommended"]["executors"]
    assert then > 1
    assert told["recommendation"]["cost"] == f"1 -> {then} an hour"
    assert f"cost 1 -> {then} an hour. To apply" in explain(stage.get("StreamPipeline", "clicks"))


def test_without_prices_nothing_is_said_of_money() -> None:
    stage = started("clicks")
    run(stage, "clicks")
    assert "money" not in {k for k, v in stage.status()["cost"].items() if v is not None}
    assert "cost" not in {r.name for r in stage.telemetry.pipelines[NAME]}


def test_explain_tells_it_in_a_row() -> None:
    stage = started("clicks")
    run(stage, "clicks", ticks=8)
    text = explain(stage.get("StreamPipeline", "clicks"))
    (row,) = (line for line in text.splitlines() if line.startswith("Cost "))
    assert "core-hours" in row
    assert "one executor is 0.1 cores, 0.88 GiB" in row


def test_one_core_is_one() -> None:
    stage = started(
        "clicks", resources={"executor": {"cores": 1, "memory": "1Gi", "cpuRequest": "1"}}
    )
    run(stage, "clicks")
    assert stage.status()["cost"]["step"].startswith("1 core, ")

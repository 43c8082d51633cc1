"""The Flink autoscaler as an opponent on the simulated plant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.control import as_decide, measure
from bench.peers.controller import Limits
from bench.peers.flink_engine import Flink, Parameters
from bench.peers.flink_jvm import Engine, shared

from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import load_scenario

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(600)]
STEP_UP = load_scenario(Path(__file__).parents[2] / "examples/scenarios/step-up.yaml")


def run(engine: Engine, **changes: Any) -> Run:
    controller = Flink(Limits(1, 26), Parameters(**changes), engine)
    return simulate(STEP_UP, 1, controller=as_decide(controller))


def test_with_the_defaults_it_moves_after_stabilisation_and_window(engine: Engine) -> None:
    """300 s and 900 s after the start; then 3000/s need more than 9 of 400/s, and get a divisor."""
    done = run(engine)
    assert done.ticks[-1].at_s >= STEP_UP.duration - STEP_UP.tick
    changes = [(tick.at_s, tick.after.settings.executors) for tick in done.changes]
    assert changes[0][0] == pytest.approx(1200, abs=20)
    assert done.final.executors == 16


def test_short_windows_find_the_size_within_two_minutes_of_the_step(engine: Engine) -> None:
    done = run(engine, metrics_window_s=60, stabilization_interval_s=30)
    last = done.changes[-1]
    assert 600 < last.at_s <= 720
    assert last.after.settings.executors == 16


def test_without_known_partitions_it_need_not_divide_them(engine: Engine) -> None:
    done = run(
        engine, metrics_window_s=60, stabilization_interval_s=30, partitions_known=False
    )  # fmt: skip
    assert 32 % done.final.executors
    assert done.final.executors > 10


def test_runs_of_the_shared_engine_can_be_repeated() -> None:
    first, second = (measure(STEP_UP, "flink", 1, {"metrics_window_s": "60"}) for _ in range(2))
    assert first.pop("decision_ms") > 0
    assert second.pop("decision_ms") > 0
    assert first == second
    assert first["verdicts"]["within_limits"]
    assert shared() is shared()

"""The line at the end of a run: the goal, and the cost beside a static peak."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.simulation.plants import scenario

from trimtab.cli import main
from trimtab.simulation.run import simulate
from trimtab.simulation.summary import summary

STEP = scenario(
    name="step", duration=1200, tick=10, load={"step": [[0, 100], [400, 240], [800, 100]]},
    warmup_s=100, limits={"executors": {"min": 1, "max": 4}},
)  # fmt: skip


def test_a_load_that_comes_and_goes_costs_less_than_its_peak() -> None:
    found = summary(simulate(STEP, 1))
    assert (found.judged_s, found.static_executors) == (1100.0, 2)
    assert found.static_core_hours == pytest.approx(2 * 1100 / 3600)
    assert 1100 / 3600 < found.core_hours < found.static_core_hours
    assert found.held is not None
    assert 0.9 < found.held <= 1.0
    assert "less than the 0.61 of 2 executors all the time, which the peak needs" in found.words


def test_a_goal_of_the_highest_rate_has_nothing_to_hold() -> None:
    most = scenario(name="most", duration=300, goal={"throughput": {"max": True}})
    found = summary(simulate(most, 1))
    assert found.held is None
    assert "goal held" not in found.words


def test_the_command_ends_with_it() -> None:
    file = "examples/scenarios/quickstart.yaml"
    done = CliRunner().invoke(main, ["simulate", "--scenario", file])
    assert done.output.splitlines()[-1].strip().startswith("goal held in 99")


def test_a_pipeline_is_no_scenario_and_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.yaml"
    file.write_text("kind: StreamPipeline\nspec: {}\n")
    done = CliRunner().invoke(main, ["simulate", "--scenario", str(file)])
    assert done.exit_code == 1
    assert "is a StreamPipeline, not a scenario: docs/simulation.md shows one" in done.output

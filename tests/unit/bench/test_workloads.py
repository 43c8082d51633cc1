"""Every workload of the benches is a scenario that treats all controllers alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.simulation.scenario import load_scenario

FILES = sorted((Path(__file__).parents[3] / "bench/workloads").glob("*.yaml"))


def test_there_are_all_of_them() -> None:
    assert len(FILES) == 22


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_workload_loads_and_moves_executors_only(path: Path) -> None:
    scenario = load_scenario(path)
    start = scenario.start
    assert scenario.name == path.stem
    assert scenario.policy().pinned == {
        "trigger": start.trigger,
        "maxOffsetsPerTrigger": start.max_offsets_per_trigger,
    }
    assert scenario.load.noise == scenario.plant.batch.noise == 0.05


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_steps_fall_between_two_ticks(path: Path) -> None:
    scenario = load_scenario(path)
    assert all(at % scenario.tick for at, _ in (scenario.load.step or [])[1:])

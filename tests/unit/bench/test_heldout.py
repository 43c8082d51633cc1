"""Loads that are made from a seed."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.control import OURS
from bench.grids import Variant
from bench.heldout import COUNT, EXECUTORS, SHAPES, made, seed_of_commit, write
from bench.results import SHIPPED, Results
from bench.suite import Plan, hold_out

from trimtab.simulation.scenario import load_scenario


@pytest.mark.parametrize("seed", range(20))
def test_any_seed_makes_loads_that_all_executors_can_carry(seed: int) -> None:
    scenarios = made(seed)
    assert len(scenarios) == COUNT
    for each in scenarios:
        most = max(each["plant"]["capacity"].values())
        rates = [rate for _, rate in each["load"]["step"]]
        assert 0 < max(rates) <= 0.75 * most
        assert min(rates) < max(rates), "a load that moves"
        assert len(each["plant"]["capacity"]) == EXECUTORS


def test_a_seed_gives_the_same_loads_each_time_and_another_one_others(tmp_path: Path) -> None:
    assert made(3) == made(3)
    assert made(3) != made(4)
    paths = write(3, tmp_path)
    assert len({path.stem for path in paths}) == COUNT
    kinds = {path.stem.split("-")[-1] for path in paths}
    assert len(kinds) == len(SHAPES)
    assert all(load_scenario(path).policy().max_executors == EXECUTORS for path in paths)


def test_the_seed_is_that_of_the_commit() -> None:
    assert 0 < seed_of_commit() < 2**28


def test_the_best_and_what_ships_run_on_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.heldout.COUNT", 1)
    monkeypatch.setattr("bench.heldout.DURATION_S", 900)
    results, plan = Results({}), Plan((), (OURS,), seeds=(1, 2, 3), workers=1)
    hold_out(plan, 5, {OURS: Variant(OURS, OURS)}, results)
    assert not results.errors
    assert len(results.held_out) == 5 * 2 * 2, "contenders, noises, seeds"
    assert {row["label"] for row in results.held_out} >= {OURS, OURS + SHIPPED}

"""The grids: one budget for all, parameters that exist, one score."""

from __future__ import annotations

import pytest
from bench.control import DIRECT_S, NAMES, OURS, retuned
from bench.grids import (
    BUDGET,
    GRIDS,
    absent,
    cost,
    grid,
    parameters,
    shipped,
    variants,
)
from bench.peers.catalogue import PEERS

from trimtab.errors import BadInputError
from trimtab.simulation.scenario import Scenario

FRAME = {"oracle", "static-peak"}
SCENARIO = Scenario.model_validate({
    "name": "tiny", "duration": 60, "partitions": 4, "load": {"step": [[0, 100]]},
    "plant": {"capacity": {1: 200}}, "goal": {"latency": {"target": 10}},
})  # fmt: skip


@pytest.mark.parametrize("name", GRIDS)
def test_every_controller_has_the_same_budget_and_begins_as_shipped(name: str) -> None:
    rows = GRIDS[name]
    assert len(rows) == BUDGET
    assert rows[0] == {}
    assert len({tuple(sorted(row.items())) for row in rows}) == BUDGET


def test_who_has_no_grid_knows_the_plant() -> None:
    assert {name for name in NAMES if name not in GRIDS} == FRAME
    assert {len(variants(name)) for name in FRAME} == {1}
    assert absent() == [name for name in GRIDS if name not in NAMES]


@pytest.mark.parametrize("name", [name for name in GRIDS if name in PEERS])
def test_a_peer_knows_the_parameters_of_its_grid(name: str) -> None:
    made = [PEERS[name].parameters(row) for row in GRIDS[name]]
    assert len(set(made)) == BUDGET


def test_our_own_variants_move_bounds_dwells_and_the_catch_up() -> None:
    found = [retuned(SCENARIO, row) for row in GRIDS[OURS]]
    assert found[0] == SCENARIO
    tunings = [scenario.tuning for scenario in found]
    goals = [scenario.goal.latency for scenario in found]
    policies = [scenario.policy() for scenario in found]
    assert all(policy.lower < policy.higher for policy in policies)
    moved = {
        (*t.bounds, *t.dwell, goal.catch_up if goal else None)
        for t, goal in zip(tunings, goals, strict=True)
    }
    assert len(moved) == BUDGET


@pytest.mark.parametrize("given", [{"speed": "1"}, {"up": "soon"}, {"higher": "2"}])
def test_a_parameter_that_we_do_not_have_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(BadInputError):
        retuned(SCENARIO, given)


def test_a_grid_is_the_default_and_every_combination() -> None:
    assert grid(a=[1, 2], b=["x"]) == ({}, {"a": "1", "b": "x"}, {"a": "2", "b": "x"})


def test_one_percent_of_violation_costs_a_tenth_of_the_least() -> None:
    assert cost(15, 10, 0.01, 0) == pytest.approx(1.6)


def test_ten_changes_an_hour_cost_a_hundredth_of_the_least() -> None:
    assert cost(10, 10, 0, 10) == pytest.approx(1.01)


def test_only_what_a_grid_varies_counts_as_a_parameter() -> None:
    assert parameters("keda") == 2
    assert parameters("oracle") == 0


def test_ours_ships_with_direct_reads_and_is_shown_without_them_too() -> None:
    with_reads, *profiles, without = shipped(OURS, " as shipped")
    assert retuned(SCENARIO, dict(with_reads.given)).plant.metrics.direct_s == DIRECT_S
    assert retuned(SCENARIO, dict(without.given)) == retuned(SCENARIO, {})
    policies = [retuned(SCENARIO, dict(v.given)).policy() for v in (*profiles, with_reads)]
    assert [policy.higher for policy in policies] == [0.7, 0.9, 0.85]
    assert [v.given for v in shipped("flink", " as shipped")] == [()]

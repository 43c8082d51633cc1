"""The figures against runs whose figures can be worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.plants import scenario
from trimtab.api.reasons import Action, Reason
from trimtab.simulation.figures import allowed, exact, figures, sustainable, violating_seconds
from trimtab.simulation.run import Run, simulate
from trimtab.tuning.settings import Settings

LINEAR = {"capacity": {1: 100, 8: 800}, "batch": {"fixed_s": 0.5}}
GOAL = {"latency": {"target": 9}}


WIDE = {"bounds": {"higher": 0.8, "lower": 0.5}, "dwell": {"up": 2, "down": 6}}


def run(**changes: Any) -> Run:
    changes = {"plant": LINEAR, "goal": GOAL, "partitions": 16, "tick": 10, "tuning": WIDE,
               "limits": {"executors": {"min": 1, "max": 8}}} | changes  # fmt: skip
    return simulate(scenario(**changes), 1)


def test_sustainable_is_the_rate_whose_batch_just_fits() -> None:
    one = run().scenario
    assert sustainable(one, Settings(2, 2.0, 10000)) == pytest.approx(200 * (1 - 0.5 / 2))
    assert sustainable(one, Settings(2, 0.4, 10000)) == pytest.approx(0, abs=1e-6)


def test_allowed_is_enough_at_the_higher_bound_and_not_too_light() -> None:
    one = run()
    assert allowed(one, 150, one.final) == [3, 4]
    assert allowed(one, 10, one.final) == [1]
    assert allowed(one, 600, one.final) == []


def test_exact_looks_at_the_load_without_its_noise() -> None:
    steady = {"step": [[0, 150]], "noise": 0.4}
    one = run(load=steady, duration=30, start={"executors": 3})
    assert one.final.executors == 3
    assert exact(one)


def test_where_nothing_is_enough_only_the_most_and_saturated_is_exact() -> None:
    one = run(load={"step": [[0, 2000]]}, duration=900)
    assert one.final.executors == 8
    assert one.ticks[-1].decision.reason in {Reason.SATURATED, Reason.GOAL_INFEASIBLE}
    assert exact(one)


def test_a_rate_goal_asks_for_no_more_than_its_rate() -> None:
    goal = {"throughput": {"recordsPerSecond": 150, "catchUp": 600}}
    one = run(load={"step": [[0, 2000]]}, duration=30, goal=goal, start={"executors": 3})
    assert allowed(one, 150, one.final) == [3, 4]
    assert exact(one)


def test_a_second_without_arrivals_violates_nothing() -> None:
    """The first batch takes 24.5 s, so the records of 58..60 wait too long; nobody waits before."""
    one = run(load={"step": [[0, 0], [58, 1200]]}, duration=90, warmup_s=0)
    late = violating_seconds(one)
    assert late
    assert min(late) >= 58


def test_the_backlog_of_a_rate_goal_violates_when_it_grows() -> None:
    """300/s against 75/s: the backlog is above 10 s of load after about 14 s, and grows on."""
    goal = {"throughput": {"recordsPerSecond": 400}}
    most = {"executors": {"min": 1, "max": 1}}
    start = {"maxOffsetsPerTrigger": 150}
    one = run(load={"step": [[0, 300]]}, duration=100, goal=goal, limits=most, start=start)
    assert 85 <= figures(one)["slo_violation_s"] <= 88


def test_the_warm_up_is_left_out_of_sums_but_not_of_the_recovery() -> None:
    """The load of 600/s begins at 40: it violates until executors came."""
    load = {"step": [[0, 50], [40, 500]]}
    warm = figures(run(load=load, duration=300, warmup_s=0))
    late = figures(run(load=load, duration=300, warmup_s=290))
    assert warm["recover_s"] == late["recover_s"]
    assert warm["recover_s"][1] > 20
    assert warm["slo_violation_s"] > 20
    assert late["slo_violation_s"] == 0
    assert late["lag_area"] < warm["lag_area"]
    assert late["core_hours"] < warm["core_hours"]


def test_core_hours_and_their_oracles() -> None:
    """100/s at a trigger of 2 s: one executor sustains 75, two 150 (125 wanted), three 225."""
    pinned = WIDE | {"pinned": {"executors": 4}}
    one = figures(run(duration=360, start={"executors": 4}, tuning=pinned))
    assert one["core_hours"] == pytest.approx(4 * 360 / 3600)
    assert one["oracle_core_hours"] == pytest.approx(2 * 360 / 3600)
    assert one["oracle_h1_core_hours"] == pytest.approx(2 * 360 / 3600)
    assert one["overshoot"] == 0
    assert one["lag_area"] == pytest.approx(0, abs=1)
    assert one["driver_busy"] == pytest.approx(0.5, abs=0.01)


def test_steps_count_reverts_and_a_turn_at_the_same_load_is_a_reversal() -> None:
    limited = {"capacity": {1: 80, 8: 82}, "batch": {"fixed_s": 0.1}}
    one = run(plant=limited, duration=300, load={"step": [[0, 85]], "noise": 0.05})
    turned = [t for t in one.ticks if t.decision.action is Action.REVERT]
    assert len(turned) == 1
    result = figures(one)
    assert result["steps"] == result["reconfigurations"] == 2
    assert result["reversals"] == 1
    assert isinstance(one.final, Settings)

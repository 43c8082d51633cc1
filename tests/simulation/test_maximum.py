"""A goal of `max`: the highest rate within the limits, and no executor that adds nothing to it."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.nasty import CURVE
from trimtab.api.reasons import Action, Reason
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import Scenario
from trimtab.simulation.verifiers import verify
from trimtab.tuning.knobs.beginning import begun

LINEAR = {p: 200 * p for p in range(1, 11)}
NOISY = {"fixed_s": 0.3, "noise": 0.03}


def run(
    plant: dict[str, Any], *, rate: float = 100, most: int = 10, partitions: int = 16, **start: Any
) -> Run:
    begin = {"executors": 1, "trigger": 2, "maxOffsetsPerTrigger": 500, "backlog": 1e8}
    return simulate(Scenario.model_validate({
        "name": "max", "duration": 3600, "tick": 10, "partitions": partitions,
        "load": {"step": [[0, rate]]}, "plant": plant, "goal": {"throughput": {"max": True}},
        "limits": {"executors": {"min": 1, "max": most}}, "start": begin | start,
    }), 1)  # fmt: skip


def rate(one: Run, seconds: float = 600) -> float:
    """Records/s worked off in the last seconds."""
    late = [b for b in one.batches if b.end_s >= one.scenario.duration - seconds]
    return sum(b.last - b.first for b in late[1:]) / (late[-1].end_s - late[0].end_s)


@pytest.mark.parametrize(
    ("plant", "best", "executors"),
    [
        ({"capacity": LINEAR, "batch": NOISY}, 2000, {10}),
        ({"capacity": {p: 200 * p / (1 + 0.15 * (p - 1)) for p in LINEAR}, "batch": NOISY}, 851,
         {9, 10}),
        ({"capacity": {1: 200, 4: 700, 10: 710}, "batch": NOISY}, 710, {4, 5, 6}),
        ({"capacity": {1: 2000}, "batch": {"fixed_s": 0.1}, "remote": {"latency_s": 0.008}}, 2000,
         set(range(1, 11))),
    ],
    ids=["linear", "sub-linear", "flat above four", "waits for calls"],
)  # fmt: skip
def test_it_comes_within_a_tenth_of_the_highest_rate(
    plant: dict[str, Any], best: float, executors: set[int]
) -> None:
    one = run(plant)
    assert rate(one) >= 0.9 * best
    assert one.final.executors in executors
    assert all(verify(one).values())


SEED_SINK = {100: 0.2, 1000: 0.25, 2000: 0.3, 4000: 1.2, 8000: 4}
"""Seed 000's three regimes of a bulk put, and the overload beyond them."""


def test_the_batch_ends_at_the_top_of_the_second_regime() -> None:
    plant = {"capacity": {p: 1000 * p for p in LINEAR}, "batch": {"fixed_s": 0.1},
             "sink": SEED_SINK}  # fmt: skip
    one = run(plant, trigger=0.5, maxOffsetsPerTrigger=100)
    assert 1500 <= one.final.max_offsets <= 3000
    tried = [t for t in one.changes if t.after.settings.max_offsets > 3000]
    assert all(t.decision.action is Action.CHANGE for t in tried), "tried, and put back"


DATABASE = {100: 0.05, 1000: 0.1, 1600: 0.25, 2000: 0.42, 4000: 1.35, 8000: 4.9, 16_000: 20}
"""A sink that is overloaded from 2,000 records on: batches of that many carry 3,700/s."""


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.12])
@pytest.mark.parametrize("limit", [250, 1000])
def test_a_step_beyond_the_top_is_followed_by_smaller_ones_back(limit: int, noise: float) -> None:
    """It stayed at 4,000 or 3,300 records, which carry 2,550 and 2,700/s."""
    plant = {"capacity": {p: 20_000 * p for p in LINEAR}, "sink": DATABASE,
             "batch": {"fixed_s": 0.02, "noise": noise}}  # fmt: skip
    one = run(plant, most=1, trigger=0.5, maxOffsetsPerTrigger=limit)
    assert rate(one) >= 0.9 * 3700
    assert len(one.changes) < 12
    words = [t.decision.message for t in one.changes if t.after.settings.max_offsets < 3000]
    assert any("the most is carried between" in each for each in words)


def test_executors_and_the_batch_limit_go_up_together_where_neither_gains_alone() -> None:
    """A batch that just fills 11 executors: a larger one gains nothing, nor does a 12th executor.

    It stayed at 11, which carry 3,800/s, although 26 carry 7,476/s.
    """
    plant = {"capacity": CURVE, "batch": {"fixed_s": 0.3, "noise": 0.05}}
    one = run(
        plant, rate=3000, most=26, partitions=32,
        executors=4, trigger=10, maxOffsetsPerTrigger=2000,
    )  # fmt: skip
    assert one.final.executors >= 20
    assert rate(one) >= 0.85 * CURVE[26]


def test_without_a_trigger_there_is_nothing_to_fill() -> None:
    one = run({"capacity": {1: 10.0}}, trigger=0, maxOffsetsPerTrigger=1, backlog=0)
    assert one.final.max_offsets >= 1


def test_it_stops_when_nothing_gains_three_percent() -> None:
    one = run({"capacity": LINEAR, "batch": {"fixed_s": 0.3}})
    assert one.changes[-1].at_s < 1800
    assert one.ticks[-1].decision.reason is Reason.SATURATED


def test_what_comes_in_and_is_worked_off_needs_no_more() -> None:
    one = run({"capacity": LINEAR, "batch": {"fixed_s": 0.3}}, rate=600, backlog=0)
    assert rate(one) == pytest.approx(600, rel=0.02)
    assert one.final.executors < 10


def test_a_flood_that_waits_for_calls_is_worked_off_at_its_best_after_five_minutes() -> None:
    """Executors that the batch limit leaves without work stay, since the limit is raised next."""
    plant = {
        "capacity": {1: 1500, 2: 2200, 3: 2400, 4: 2600}, "remote": {"latency_s": 0.008},
        "batch": {"fixed_s": 0.5, "per_task_s": 0.05, "noise": 0.05}, "waves": True,
    }  # fmt: skip
    one = simulate(Scenario.model_validate({
        "name": "flood", "duration": 600, "tick": 3, "partitions": 4, "plant": plant,
        "load": {"step": [[0, 0]]}, "goal": {"throughput": {"max": True}},
        "limits": {"executors": {"min": 1, "max": 4}},
        "start": {"executors": 1, "trigger": 5, "maxOffsetsPerTrigger": 5000, "maxInFlight": 1,
                  "backlog": 2.5e6},
    }), 1)  # fmt: skip
    assert rate(one, 300) >= 0.9 * 2600
    assert Reason.EXECUTORS_RELEASED not in {t.decision.reason for t in one.changes}


def test_a_cold_flood_of_calls_reaches_its_best_within_two_minutes() -> None:
    """As on the real cluster: 16,800/s at 4 x 64 calls of 8 ms, and a first batch that compiles."""
    plant = {
        "capacity": {1: 5500, 2: 9500, 3: 9500, 4: 17000}, "remote": {"latency_s": 0.008},
        "batch": {"fixed_s": 0.3, "per_task_s": 0.03, "noise": 0.05, "cold_s": 7}, "waves": True,
        "metrics": {"direct_s": 2},
    }  # fmt: skip
    scenario = Scenario.model_validate({
        "name": "flood", "duration": 180, "tick": 3, "partitions": 4, "plant": plant,
        "load": {"step": [[0, 0]]}, "goal": {"throughput": {"max": True}},
        "limits": {"executors": {"min": 1, "max": 4}},
        "start": {"executors": 1, "trigger": 5, "maxOffsetsPerTrigger": 5000, "maxInFlight": 1,
                  "backlog": 4e6},
    })  # fmt: skip
    limit = begun(scenario.policy(), scenario.settings()).max_offsets
    start = scenario.start.model_copy(update={"max_offsets_per_trigger": limit})
    one = simulate(scenario.model_copy(update={"start": start}), 1)
    assert rate(one, 60) >= 0.9 * 16_800
    first = [t.decision.reason for t in one.changes]
    assert first[0] is Reason.CALLS_RAISED
    assert first.index(Reason.EXECUTORS_RAISED) > 1, "calls and batches cost nothing"

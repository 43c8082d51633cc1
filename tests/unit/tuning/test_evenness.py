"""Where batches are even, the bounds may lie higher."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.unit.tuning.test_decision import batch, memory, open_trial, signals, snapshot

from trimtab.api.v1alpha1.goal import Goal
from trimtab.api.v1alpha1.limits import ExecutorResources, Limits
from trimtab.api.v1alpha1.tuning import Tuning
from trimtab.tuning import regime
from trimtab.tuning.capacity.evenness import DOUBT, LEAST, MOST, START, doubt, follow, room
from trimtab.tuning.capacity.learning import observe
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.policy import Policy


def settled(noise: float, *, doubled: float = 0.0) -> list[float]:
    """The factor over 4000 batches, after 1000 in which it settles."""
    rng, slow, seen = random.Random(noise), 0.0, []
    for number in range(5000):
        ratio = max(0.1, rng.gauss(1, noise)) * (2 if rng.random() < doubled else 1)
        slow = follow(slow, ratio, number)
        seen.append(slow)
    return seen[1000:]


@pytest.mark.parametrize(("noise", "doubled"), [(0.05, 0.0), (0.12, 0.0), (0.12, 0.03)])
def test_one_batch_in_fifty_takes_longer_than_the_factor(noise: float, doubled: float) -> None:
    rng = random.Random("others")
    slow = settled(noise, doubled=doubled)
    ratios = [rng.gauss(1, noise) * (2 if rng.random() < doubled else 1) for _ in slow]
    beyond = sum(r > s for r, s in zip(ratios, slow, strict=True)) / len(slow)
    assert 0.01 < beyond < 0.035
    assert all(LEAST <= each <= MOST for each in slow)


def test_only_even_batches_leave_room_above_the_bound() -> None:
    even, uneven = settled(0.05), settled(0.12, doubled=0.03)
    assert sum(room(each, 0.85) >= 0.03 for each in even) > 0.9 * len(even)
    assert sum(room(each, 0.85) > 0 for each in uneven) < 0.05 * len(uneven)
    assert room(0.0, 0.85) == 0, "what is unknown leaves none"


def test_only_uneven_batches_make_a_comparison_doubtful() -> None:
    even, uneven = settled(0.05), settled(0.12, doubled=0.03)
    assert all(doubt(each) == 0 for each in even)
    assert all(doubt(each) == DOUBT for each in uneven)
    assert doubt(0.0) == 0, "what is unknown adds none"


def test_one_slow_batch_counts_at_once_and_an_even_one_only_now_and_then() -> None:
    assert follow(0.0, 1.0, 1) == START
    assert follow(1.12, 1.13, 7) == 1.14
    assert follow(1.12, 1.11, 7) == 1.12
    assert follow(1.12, 1.11, 50) == 1.1
    assert follow(1.1, 1.0, 100) == LEAST


def stated(**tuning: object) -> Policy:
    goal = Goal.model_validate({"latency": {"target": "15s"}})
    said = Tuning.model_validate(tuning)
    return Policy.stated(goal, Limits(), said, ExecutorResources())


@pytest.mark.parametrize(
    ("tuning", "higher", "lower"),
    [
        ({}, 0.9, 0.8),
        ({"profile": "latency"}, 0.7, 0.5),
        ({"bounds": {"higher": 0.85}}, 0.85, 0.75),
        ({"bounds": {"lower": 0.7}}, 0.8, 0.7),
    ],
)
def test_the_bounds_of_the_balanced_profile_move_up_and_no_others(
    tuning: dict[str, object], higher: float, lower: float
) -> None:
    band = regime.band(stated(**tuning), memory(slow_batch=1.1), 0.0)
    assert (band.higher, band.lower) == (pytest.approx(higher), pytest.approx(lower))


@pytest.mark.parametrize(("slow", "higher"), [(0.0, 0.85), (1.2, 0.85), (1.15, 0.8696), (1.1, 0.9)])
def test_they_move_as_far_as_slow_batches_still_fit(slow: float, higher: float) -> None:
    band = regime.band(stated(), memory(slow_batch=slow), 0.0)
    assert band.higher == pytest.approx(higher, abs=1e-4)


@pytest.mark.parametrize(
    ("number", "took_s", "before", "after"), [(50, 2.0, 1.16, 1.14), (51, 2.41, 1.1, 1.12)]
)
def test_each_batch_counts_once_however_often_it_is_looked_at(
    number: int, took_s: float, before: float, after: float
) -> None:
    """Ticks are shorter than batches, and most batches say nothing else that is new."""
    known = Point(1, 1000, 0.1, 2.1, batches=5, fastest_s=1.5e-3, slowest_s=3e-3, seen_s=600.0)
    held = memory(points=(known,), slow_batch=before)
    one = batch(id=number, records=1000, duration_s=took_s, overhead_s=0.1)
    for _ in range(5):
        held = observe(snapshot(signals(batch=one), held), held, one)
    assert held.slow_batch == pytest.approx(after)


def test_a_batch_teaches_it_unless_a_trial_is_open() -> None:
    slow = batch(id=21, records=2500, duration_s=60.0, since_start=20)
    learned = memory()
    seen = snapshot(signals(batch=slow), learned)
    assert observe(seen, learned, slow).slow_batch > START
    tried = replace(learned, trial=open_trial(settled=9, judged=1, batch="1/20"))
    assert observe(seen, tried, slow).slow_batch == 0.0

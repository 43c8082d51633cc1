"""The load: what the executors that are there have to do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, policy

from trimtab.tuning.capacity.load import ENDLESS, Load
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.snapshot import ExternalConstraints

FOUR = replace(START, executors=4)
AWAY = {"executors_running": 1, "executors_pending": 3}


def test_executors_that_the_cluster_keeps_from_starting_carry_nothing() -> None:
    refused = ExternalConstraints(executors_missing="no node fits an executor")
    seen = context(settings=FOUR, seen=AWAY, constraints=refused).load
    alone = context(settings=replace(START, executors=1)).load
    assert seen.value == alone.value
    assert seen.value > context(settings=FOUR).load.value


def test_executors_that_start_soon_count() -> None:
    assert context(settings=FOUR, seen=AWAY).load.value == context(settings=FOUR).load.value


def test_executors_that_leave_do_not_count() -> None:
    refused = ExternalConstraints(executors_missing="no node fits an executor")
    leaving = {"executors_running": 6, "executors_pending": 0}
    seen = context(settings=FOUR, seen=leaving, constraints=refused).load
    assert seen.value == context(settings=FOUR).load.value


def beside(load: float, *, prompt: bool) -> Load:
    """8 ms a record and 0.7 s a batch, at a trigger of 0.5 s and a goal of 15 s."""
    points = (Point(1, 100, 0.7, 1.5), Point(1, 1000, 0.7, 8.7))
    asked = policy(higher=0.7, lower=0.5, prompt=prompt)
    short = replace(START, trigger_s=0.5)
    seen = {"lag_records": load * 1.6}
    return context(load=load, points=points, settings=short, asked=asked, seen=seen).load


def test_with_the_latency_profile_batches_may_follow_each_other_at_once() -> None:
    """They may take 0.7 · 15 / 1.95 s, and take 0.7 / (1 - 20/125) s."""
    now = beside(20.0, prompt=True)
    assert now.latency == pytest.approx(1.95 * 0.7 / (1 - 20 / 125) / 15, rel=0.01)
    assert now.capacity == pytest.approx(20 / (125 * (1 - 0.7 * 1.95 / 10.5)), rel=0.01)
    assert beside(20.0, prompt=False).capacity == ENDLESS


def test_no_more_comes_in_than_keeps_such_batches_within_the_goal() -> None:
    full = 125 * (1 - 0.7 * 1.95 / 10.5)
    assert beside(0.99 * full, prompt=True).value < 1.0
    assert beside(1.01 * full, prompt=True).value > 1.0

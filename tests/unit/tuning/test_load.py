"""The load: what the executors that are there have to do."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START

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

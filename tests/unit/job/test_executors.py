from __future__ import annotations

import pytest

from trimtab.job.board import ExecutorStates
from trimtab.job.executors import Work, load_of, pick_to_remove


def test_the_youngest_go_first_and_nobody_twice() -> None:
    assert pick_to_remove({"2", "10", "9"}, {"10"}, 1) == ["9"]
    assert pick_to_remove({"1", "2"}, set(), 0) == []
    assert pick_to_remove({"1", "2"}, set(), -3) == []


def test_pending_is_what_was_asked_and_has_not_come() -> None:
    assert ExecutorStates(requested=4, running=1, decommissioning=0).pending == 3
    assert ExecutorStates(requested=1, running=3, decommissioning=2).pending == 0


def test_load_is_a_mean_and_collection_time_needs_finished_tasks() -> None:
    load = load_of([Work(1, 4, 1000, 10), Work(3, 4, 1000, 10)])
    assert load.slots_busy == 0.5
    assert load.gc is None
    assert load_of([Work(0, 4, 1000, 10), Work(0, 4, 3000, 110)]).gc == pytest.approx(0.05)
    assert load_of([Work(0, 0, 0, 0)]).slots_busy is None

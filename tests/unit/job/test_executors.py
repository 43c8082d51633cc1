from __future__ import annotations

from trimtab.job.board import ExecutorStates
from trimtab.job.executors import pick_to_remove


def test_the_youngest_go_first_and_nobody_twice() -> None:
    assert pick_to_remove({"2", "10", "9"}, {"10"}, 1) == ["9"]
    assert pick_to_remove({"1", "2"}, set(), 0) == []
    assert pick_to_remove({"1", "2"}, set(), -3) == []


def test_pending_is_what_was_asked_and_has_not_come() -> None:
    assert ExecutorStates(requested=4, running=1, decommissioning=0).pending == 3
    assert ExecutorStates(requested=1, running=3, decommissioning=2).pending == 0

"""Real-time mode: what takes the place of the gate, by commits and by the query's thread."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.job.lifecycle import at_once
from trimtab.job.lifecycle.at_once import AtOnce
from trimtab.job.lifecycle.boundary import Outcome, RealTimeGate, judge_stop
from trimtab.job.termination import JobFailureError, Reason


class Thread:
    """The thread of a query that ends some looks after it was asked to."""

    def __init__(self, looks: int, *, fails: bool = False) -> None:
        self.looks, self.fails, self.asked = looks, fails, False

    def ask(self) -> None:
        self.asked = True

    def runs(self) -> bool:
        self.looks -= self.asked
        return self.looks > 0

    def ended_well(self) -> bool:
        return self.looks <= 0 and not self.fails


def stopped(thread: Thread, patience: int = 99) -> Outcome:
    """Look again and again, as the runner does while the machine is stopping."""
    gate = RealTimeGate(thread.ask, thread.runs, thread.ended_well)
    query: Any = None
    assert gate.running(query)
    gate.close()
    for look in range(1000):
        active = gate.running(query)
        at_boundary = gate.at_boundary(lambda: None)
        outcome = judge_stop(active=active, at_boundary=at_boundary, give_up=look > patience)
        if outcome is not None:
            return outcome
    raise AssertionError


def test_a_query_that_is_asked_ends_at_its_own_boundary() -> None:
    thread = Thread(5)
    assert stopped(thread) is Outcome.CLEAN
    assert thread.looks == 0


def test_one_that_fails_meanwhile_has_not_ended_well() -> None:
    assert stopped(Thread(5, fails=True)) is Outcome.FAILED


def test_one_that_takes_too_long_is_cut_short() -> None:
    assert stopped(Thread(50), patience=9) is Outcome.UNCLEAN


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The queries that were asked to end."""
    found: list[Any] = []
    monkeypatch.setattr(at_once.real_time, "end_after_batch", found.append)
    return found


def test_a_batch_begins_where_the_one_before_ends(asked: list[Any]) -> None:
    did: list[str] = []
    query: Any = "query"
    follows = AtOnce(query, lambda n: did.append(f"begin {n}"), lambda: did.append("ended"))
    follows.first(None)
    follows.following(1)
    follows.following(2)
    assert did == ["begin 0", "ended", "begin 1", "ended", "begin 2"]
    AtOnce(query, lambda n: did.append(f"begin {n}"), list).first(41)
    assert did[-1] == "begin 42", "after the last that was committed"
    assert asked == []


def test_a_driver_that_has_lost_its_checkpoint_lets_the_query_end(asked: list[Any]) -> None:
    lost = JobFailureError(Reason.CHECKPOINT_IN_USE, "another driver")

    def begin(_: int) -> None:
        raise lost

    query: Any = "query"
    follows = AtOnce(query, begin, list)
    follows.following(3)
    assert (asked, follows.failure) == (["query"], lost)

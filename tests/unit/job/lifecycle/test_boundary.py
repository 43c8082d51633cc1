from __future__ import annotations

import threading

import pytest

from trimtab.job.lifecycle.boundary import Gate, GateClosedError, Outcome, judge_stop, stop_now
from trimtab.job.query.builder import last_committed

NEVER = 10**9


class FakeQuery:
    """A query that runs until it is stopped or dies."""

    def __init__(self) -> None:
        self.active = True
        self.stopped_at: int | None = None
        self.polls = 0

    @property
    def isActive(self) -> bool:  # noqa: N802
        return self.active

    def stop(self) -> None:
        self.active = False
        self.stopped_at = self.polls


def run(
    query: FakeQuery,
    gate: Gate,
    *,
    commits_at: int = 10**9,
    dies_at: int = 10**9,
    patience: int = 50,
) -> Outcome:
    """Look again and again, as the runner does while the machine is stopping."""
    gate.close()
    while True:
        active = query.isActive
        at_boundary = gate.at_boundary(lambda: 7 if query.polls >= commits_at else 6)
        give_up = query.polls >= patience
        outcome = judge_stop(active=active, at_boundary=at_boundary, give_up=give_up)
        if outcome is not None:
            if query.isActive:
                stop_now(query)
            return outcome
        query.polls += 1
        if query.polls >= dies_at:
            query.active = False


def test_waits_for_the_batch_past_the_gate() -> None:
    query, gate = FakeQuery(), Gate()
    gate.enter(7)
    assert run(query, gate, commits_at=3) is Outcome.CLEAN
    assert query.stopped_at == 3


def test_stops_at_once_when_nothing_has_written() -> None:
    query = FakeQuery()
    assert run(query, Gate()) is Outcome.CLEAN
    assert query.stopped_at == 0


def test_no_batch_passes_a_closed_gate() -> None:
    gate = Gate()
    gate.enter(7)
    assert gate.close() == 7
    with pytest.raises(GateClosedError, match="batch 8"):
        gate.enter(8)
    assert gate.refused


def test_a_refused_batch_proves_that_the_one_before_is_committed() -> None:
    query, gate = FakeQuery(), Gate()
    gate.enter(7)
    gate.close()
    with pytest.raises(GateClosedError):
        gate.enter(8)
    query.active = False
    assert run(query, gate) is Outcome.CLEAN


def test_gives_up_only_when_told() -> None:
    query, gate = FakeQuery(), Gate()
    gate.enter(7)
    assert run(query, gate, patience=5) is Outcome.UNCLEAN
    assert not query.active


def test_tells_a_query_that_died_from_one_that_stopped() -> None:
    query, gate = FakeQuery(), Gate()
    gate.enter(7)
    assert run(query, gate, dies_at=2) is Outcome.FAILED
    assert query.stopped_at is None


def test_a_query_that_ends_with_its_commit_ended_cleanly() -> None:
    query, gate = FakeQuery(), Gate()
    gate.enter(7)
    assert run(query, gate, commits_at=2, dies_at=2) is Outcome.CLEAN


class Progress:
    """What Spark reports of a trigger."""

    def __init__(self, batch_id: int, *phases: str) -> None:
        self.batchId = lambda: batch_id
        self.durationMs = lambda: self
        self.containsKey = phases.__contains__


class Reporting:
    """A query that has reported its last trigger."""

    def __init__(self, progress: Progress | None) -> None:
        self._jsq = self
        self.lastProgress = lambda: progress


def test_a_trigger_without_data_reports_the_number_of_a_batch_that_is_still_to_come() -> None:
    """Taken for a commit it would cut the next batch short as soon as that has begun."""
    assert last_committed(Reporting(None)) is None
    assert last_committed(Reporting(Progress(33, "latestOffset", "addBatch"))) == 33
    assert last_committed(Reporting(Progress(33, "latestOffset", "triggerExecution"))) == 32


class SlowQuery:
    """A query that stops when it is told twice: by Spark, and by the test."""

    isActive = True  # noqa: N815 -- Spark's name

    def __init__(self) -> None:
        self.ends = threading.Event()

    def stop(self) -> None:
        self.ends.wait(30)


def test_a_query_that_does_not_stop_in_time_is_told() -> None:
    query = SlowQuery()
    assert not stop_now(query, 0.01)
    query.ends.set()
    assert stop_now(query, 30)

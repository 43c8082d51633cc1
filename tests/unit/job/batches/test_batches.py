from __future__ import annotations

import dataclasses

import pytest
from tests.unit.job.samples import T0, progress

from trimtab.api.knobs import How
from trimtab.job.batches.batches import Batches, QueryStart
from trimtab.job.batches.progress import BatchReport, parse
from trimtab.job.telemetry.driver_state import DriverState


def report(batch_id: int = 3, begin: float = 0.0, end: float = 1.0, run: str = "a") -> BatchReport:
    parsed = parse(progress())
    assert parsed is not None
    return dataclasses.replace(
        parsed, batch_id=batch_id, started_at=T0 + begin, committed_at=T0 + end, run_id=run
    )


class Harness:
    """Batches with a clock to set."""

    def __init__(self) -> None:
        self.now = T0
        self.driver = DriverState()
        self.batches = Batches(self.driver, lambda: self.now)

    def run(self, number: int, run_id: str, replay: int | None = None) -> None:
        self.batches.expect(QueryStart(number, replay))
        self.batches.started(run_id)


def test_the_generation_counts_only_from_the_next_batch_on() -> None:
    harness = Harness()
    harness.now = T0 - 10
    harness.batches.applied(4)
    harness.now = T0 + 0.5
    harness.batches.applied(5)
    harness.run(1, "a")
    harness.batches.finish(report(begin=0, end=1))
    assert harness.driver.last is not None
    assert harness.driver.last.settings_generation == 4
    harness.batches.finish(report(begin=1, end=2))
    assert harness.driver.last.settings_generation == 5


def test_a_batch_that_an_earlier_start_planned_is_known_while_it_runs() -> None:
    harness = Harness()
    harness.run(2, "b", replay=17)
    assert [harness.batches.replays(number) for number in (16, 17, 18)] == [False, True, False]
    harness.batches.begin(17, 120_000, executors=1, replays=3)
    assert harness.driver.running is not None
    assert harness.driver.running.replays == 3
    harness.batches.begin(18, 100, executors=1)
    assert harness.driver.running.replays == 0


def test_the_fewest_executors_of_the_batch_even_when_the_next_has_begun() -> None:
    harness = Harness()
    harness.run(1, "a")
    harness.batches.begin(3, 100, executors=4)
    harness.batches.sample_executors(2)
    harness.batches.sample_executors(3)
    harness.batches.begin(4, 100, executors=3)
    harness.batches.sample_executors(1)
    harness.batches.finish(report(3))
    assert harness.driver.last is not None
    assert harness.driver.last.executors_min == 2
    assert harness.driver.running is not None
    assert harness.driver.running.batch_id == 4


def test_only_the_planned_batch_of_that_start_is_a_replay() -> None:
    harness = Harness()
    harness.run(1, "a")
    harness.run(2, "b", replay=3)
    harness.batches.finish(report(3, run="a"))
    assert harness.driver.last is not None
    assert not harness.driver.last.replayed
    harness.batches.finish(report(3, run="b"))
    assert harness.driver.last.replayed


def test_a_pause_ends_with_the_first_commit_of_the_next_start() -> None:
    harness = Harness()
    harness.run(1, "a")
    harness.batches.finish(report(1, end=1, run="a"))
    harness.batches.pausing(How.QUERY, trigger_s=2.0)
    harness.batches.finish(report(2, end=3, run="a"))  # the listener was late
    harness.run(2, "b")
    harness.batches.finish(report(3, end=8, run="b"))
    harness.batches.finish(report(4, end=90, run="b"))
    assert harness.driver.totals.pause_s == {"query": pytest.approx(8 - 3 - 2)}


def test_a_pause_is_never_negative_and_needs_a_commit_before() -> None:
    harness = Harness()
    harness.batches.pausing(How.DRIVER, trigger_s=2.0)
    harness.run(1, "a")
    harness.batches.finish(report(1, end=1, run="a"))
    assert harness.driver.totals.pause_s == {}
    harness.batches.pausing(How.QUERY, trigger_s=60)
    harness.run(2, "b")
    harness.batches.finish(report(2, end=2, run="b"))
    assert harness.driver.totals.pause_s == {"query": 0}


def test_follows_the_committed_offsets() -> None:
    harness = Harness()
    harness.run(1, "a")
    assert harness.batches.committed is None
    harness.batches.finish(report())
    assert harness.batches.committed == {("in", 0): 20, ("in", 1): 20}


def test_what_the_first_batch_went_past_is_known_by_its_planned_offsets() -> None:
    harness = Harness()
    harness.run(1, "a")
    first = dataclasses.replace(report(0), planned=None, records=40)
    harness.batches.begin(0, 52, executors=1)
    harness.batches.finish(first)
    assert harness.driver.totals.skipped == 12
    harness.batches.begin(1, 90, executors=1)
    harness.batches.finish(first)
    assert harness.driver.totals.skipped == 12, "the size of another batch says nothing"

"""What was in the topics at the start is counted down, whatever comes later."""

from __future__ import annotations

from tests.unit.job.telemetry.test_lag import FakeKafka

from trimtab.errors import UnavailableError
from trimtab.job.telemetry.driver_state import DriverState
from trimtab.job.telemetry.lag import LagPoller
from trimtab.job.telemetry.start_backlog import StartBacklog

A, B = ("in", 0), ("in", 1)


def test_records_that_come_later_do_not_count() -> None:
    start = StartBacklog()
    assert start.left({A: 100, B: 30}, {A: 40, B: 30}) == 60
    assert start.left({A: 500, B: 90}, {A: 90, B: 30}) == 10
    assert start.left({A: 900, B: 90}, {A: 120, B: 60}) == 0


def test_a_partition_that_was_not_committed_yet_counts_whole() -> None:
    assert StartBacklog().left({A: 100, B: 30}, {A: 100}) == 30


def test_without_a_position_only_empty_topics_have_nothing_left() -> None:
    assert StartBacklog().left({A: 100, B: 0}, None) is None
    assert StartBacklog().left({A: 0, B: 0}, None) == 0


def test_the_poller_tells_it_and_knows_nothing_without_an_answer() -> None:
    driver, kafka = DriverState(), FakeKafka()
    kafka.ends = {A: 100, B: 30}
    position = {A: 40, B: 30}
    poller = LagPoller(driver, kafka, ["in"], lambda: position)
    poller.poll(now=0.0)
    assert driver.start_backlog == 60
    kafka.ends = {A: 200, B: 30}
    position[A] = 100
    poller.poll(now=1.0)
    assert driver.start_backlog == 0

    def silent(partitions: object, *, committed: bool) -> None:
        raise UnavailableError("no broker answers")

    kafka.end_offsets = silent  # type: ignore[method-assign, assignment]
    poller.poll(now=2.0)
    assert driver.start_backlog is None

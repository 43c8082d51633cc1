"""When Kafka deletes records that are not yet read, by age and by size."""

from __future__ import annotations

import pytest
from tests.unit.job.telemetry.test_lag import FakeKafka

from trimtab.job.telemetry.driver_state import DriverState, Expiry
from trimtab.job.telemetry.lag import LagPoller
from trimtab.kafka.admin import Retention

DAY_S = 86_400.0


def polled(kafka: FakeKafka, times: tuple[float, ...], position: int = 40) -> DriverState:
    """A query that stays at a position while 2 records/s come into partition 0."""
    driver = DriverState()
    poller = LagPoller(driver, kafka, ["in"], lambda: {("in", 0): position, ("in", 1): 30})
    for now in times:
        kafka.ends = {("in", 0): 100 + int(2 * now), ("in", 1): 30}
        poller.poll(now=now)
    return driver


def test_a_topic_that_keeps_a_time_deletes_the_oldest_unread_record_at_that_age() -> None:
    kafka = FakeKafka()
    kafka.kept, kafka.written = {"in": Retention(seconds=DAY_S)}, {("in", 0): -80_000.0}
    found = polled(kafka, (0.0,)).expiry
    assert found is not None
    assert found.seconds == pytest.approx(DAY_S - 80_000)
    assert found.kept_s == DAY_S


def test_what_is_overdue_goes_at_any_moment() -> None:
    kafka = FakeKafka()
    kafka.kept, kafka.written = {"in": Retention(seconds=60.0)}, {("in", 0): -80_000.0}
    assert polled(kafka, (0.0,)).expiry == Expiry(0.0, 60.0)


def test_a_topic_that_keeps_a_size_deletes_as_fast_as_records_come() -> None:
    kafka = FakeKafka()
    kafka.kept, kafka.firsts = {"in": Retention(size=1_000_000)}, {("in", 0): 20, ("in", 1): 0}
    found = polled(kafka, (0.0, 20.0, 40.0)).expiry
    assert found == Expiry((40 - 20) / 2, (180 - 20) / 2)


def test_nothing_is_said_of_a_size_that_is_not_reached() -> None:
    kafka = FakeKafka()
    kafka.kept, kafka.firsts = {"in": Retention(size=1_000_000)}, {("in", 0): 0, ("in", 1): 0}
    assert polled(kafka, (0.0, 20.0, 40.0)).expiry is None


def test_the_earlier_of_both_counts() -> None:
    kafka = FakeKafka()
    kafka.kept = {"in": Retention(seconds=DAY_S, size=1_000_000)}
    kafka.firsts, kafka.written = {("in", 0): 20, ("in", 1): 0}, {("in", 0): -100.0}
    found = polled(kafka, (0.0, 20.0, 40.0)).expiry
    assert found == Expiry(10.0, 80.0)


@pytest.mark.parametrize("kept", [{}, {"in": Retention()}])
def test_without_a_limit_or_the_right_to_read_it_nothing_is_said(
    kept: dict[str, Retention],
) -> None:
    kafka = FakeKafka()
    kafka.kept = kept
    assert polled(kafka, (0.0, 20.0)).expiry is None


def test_where_nothing_waits_nothing_expires() -> None:
    kafka = FakeKafka()
    kafka.kept = {"in": Retention(seconds=DAY_S)}
    assert polled(kafka, (0.0,), position=100).expiry is None


def test_an_answer_that_does_not_come_leaves_the_lag_known() -> None:
    kafka = FakeKafka()
    kafka.kept = None
    driver = polled(kafka, (0.0,))
    assert driver.expiry is None
    assert driver.lag is not None

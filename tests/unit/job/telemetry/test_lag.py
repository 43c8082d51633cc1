from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from trimtab.errors import UnavailableError
from trimtab.job.query.offset_log import Offsets
from trimtab.job.telemetry.driver_state import DriverState, PartitionLag
from trimtab.job.telemetry.lag import (
    BEYOND_POLLS,
    HISTORY,
    LOOK_S,
    EndHistory,
    LagPoller,
    weighted_quantiles,
)
from trimtab.kafka.admin import Retention, Topics


def history(*samples: tuple[float, int]) -> EndHistory:
    made = EndHistory()
    for at, end in samples:
        made.add(at, end)
    return made


def test_the_age_is_interpolated_between_polls() -> None:
    ends = history((0, 100), (10, 200), (20, 200), (30, 400))
    assert ends.age_of(150, now=30) == pytest.approx(25)
    assert ends.age_of(300, now=32) == pytest.approx(7)


def test_nothing_waiting_is_no_lag_and_the_unseen_past_is_unknown() -> None:
    ends = history((0, 100), (10, 200))
    assert ends.age_of(200, now=10) == 0
    assert ends.age_of(99, now=10) is None
    assert EndHistory().age_of(0, now=10) is None


def test_a_long_history_is_thinned_and_still_reaches_back() -> None:
    ends = history(*((float(i), i * 10) for i in range(3 * HISTORY)))
    assert ends.age_of(5, now=3.0 * HISTORY) == pytest.approx(3 * HISTORY - 0.5)


def test_a_topic_made_anew_starts_over() -> None:
    ends = history((0, 100), (10, 5))
    assert ends.age_of(50, now=10) == 0


class FakeKafka:
    def __init__(self) -> None:
        self.ends: Offsets | None = {("in", 0): 100, ("in", 1): 30}
        self.looks = 0
        self.levels: list[bool] = []
        self.written: dict[tuple[str, int], float] = {}
        self.asked: list[Offsets] = []
        self.kept: Mapping[str, Retention] | None = {}
        self.firsts: Offsets = {}

    def look(self, topics: Sequence[str]) -> Topics:
        assert topics == ["in"]
        self.looks += 1
        return Topics({"in": 2}, self.looks)

    def end_offsets(self, partitions: Mapping[str, int], *, committed: bool) -> Offsets:
        self.levels.append(committed)
        if self.ends is None or partitions != {"in": 2}:
            raise UnavailableError("no answer")
        return self.ends

    def retention(self, topics: Sequence[str]) -> Mapping[str, Retention]:
        assert topics == ["in"]
        if self.kept is None:
            raise UnavailableError("no answer")
        return self.kept

    def first_offsets(self, partitions: Mapping[str, int]) -> Offsets:
        assert partitions == {"in": 2}
        return self.firsts

    def timestamps(self, positions: Offsets) -> Mapping[tuple[str, int], float]:
        self.asked.append(dict(positions))
        return self.written


def test_polls_and_forgets_when_kafka_is_away() -> None:
    kafka, driver = FakeKafka(), DriverState()
    position: dict[tuple[str, int], int] = {("in", 0): 90}
    poller = LagPoller(driver, kafka, ["in"], lambda: position)
    poller.poll(now=10)
    assert driver.lag is not None
    assert driver.lag["in", 0] == PartitionLag(100, 10, None)
    assert driver.lag["in", 1].records == 30  # a partition that is new to the query
    position["in", 0] = 100
    poller.poll(now=15)
    assert driver.lag["in", 0] == PartitionLag(100, 0, 0.0)
    kafka.ends = None
    poller.poll(now=20)
    assert driver.lag is None


def test_replicas_are_looked_at_more_rarely_and_forgotten_with_the_lag() -> None:
    kafka, driver = FakeKafka(), DriverState()
    poller = LagPoller(driver, kafka, ["in"], dict)
    seen = []
    for now in (10, 11, 24, 25, 26):
        poller.poll(now=now)
        seen.append(driver.out_of_sync)
    assert seen == [1, 1, 1, 2, 2]
    kafka.ends = None
    poller.poll(now=27)
    assert driver.out_of_sync is None


def test_before_the_position_is_known_only_the_input_is() -> None:
    driver = DriverState()
    LagPoller(driver, FakeKafka(), ["in"], lambda: None).poll(now=10)
    assert driver.lag is not None
    assert driver.lag["in", 0] == PartitionLag(100, None, None)


def test_after_a_restart_the_waiting_records_tell_their_age() -> None:
    kafka, driver = FakeKafka(), DriverState()
    poller = LagPoller(driver, kafka, ["in"], lambda: {("in", 0): 40, ("in", 1): 30})
    kafka.written = {("in", 0): 100.0}
    poller.poll(now=700)
    assert kafka.asked == [{("in", 0): 40}], "nothing waits in the other partition"
    assert driver.lag is not None
    assert driver.lag["in", 0] == PartitionLag(100, 60, 600.0)
    poller.poll(now=701)
    assert driver.lag["in", 0].seconds == 601.0
    assert len(kafka.asked) == 1


def test_a_record_that_cannot_be_read_leaves_the_age_unknown_and_is_asked_for_again() -> None:
    kafka, driver = FakeKafka(), DriverState()
    poller = LagPoller(driver, kafka, ["in"], lambda: {("in", 0): 40, ("in", 1): 30})
    for now in (10.0, 11.0, 10 + LOOK_S):
        poller.poll(now=now)
        assert driver.lag is not None
        assert driver.lag["in", 0].seconds is None
    assert len(kafka.asked) == 2


def test_a_position_beyond_the_end_is_told_once_it_stays_there() -> None:
    kafka, driver = FakeKafka(), DriverState()
    poller = LagPoller(driver, kafka, ["in"], lambda: {("in", 0): 5000, ("in", 1): 30})
    seen = []
    for now in range(BEYOND_POLLS):
        poller.poll(now=now)
        assert driver.lag is not None
        seen.append([each.beyond for each in driver.lag.values()])
    assert seen == [[False, False]] * (BEYOND_POLLS - 1) + [[True, False]]
    kafka.ends = {("in", 0): 5000, ("in", 1): 30}
    poller.poll(now=10)
    assert not driver.lag["in", 0].beyond


def test_the_end_is_the_one_that_the_query_can_read() -> None:
    kafka, driver = FakeKafka(), DriverState()
    poller = LagPoller(driver, kafka, ["in"], dict)
    poller.poll(now=1)
    driver.reads_committed = False
    poller.poll(now=2)
    assert kafka.levels == [True, False]


def test_how_long_a_batch_waited_is_told_by_when_its_records_came() -> None:
    """100 records/s for 10 s, committed at 12 s: the median came at 5 s, whatever its timestamp."""
    kafka, driver = FakeKafka(), DriverState()
    poller = LagPoller(driver, kafka, ["in"], lambda: {("in", 0): 0, ("in", 1): 0})
    for now in range(11):
        kafka.ends = {("in", 0): 100 * now, ("in", 1): 0}
        poller.poll(now=now)
    begin, end = {("in", 0): 0, ("in", 1): 0}, {("in", 0): 1000, ("in", 1): 0}
    waits = poller.waits(begin, end, 12.0)
    assert waits is not None
    assert waits[0.5] == pytest.approx(7.0, abs=0.3)
    assert waits[0.95] == pytest.approx(11.5, abs=0.3)
    assert poller.waits(begin, {("in", 0): 2000}, 12.0) is None, "the polls do not cover it"
    assert poller.waits(begin, {("in", 1): 0}, 12.0) is None, "nothing was read"


def test_weights_count_in_quantiles() -> None:
    assert weighted_quantiles([(1.0, 1), (9.0, 99)]) == {0.5: 9.0, 0.95: 9.0, 0.99: 9.0}
    assert weighted_quantiles([(9.0, 1), (1.0, 99)])[0.95] == 1.0

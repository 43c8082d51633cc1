from __future__ import annotations

from collections.abc import Sequence

import pytest

from trimtab.errors import UnavailableError
from trimtab.job.query.checkpoint import Offsets
from trimtab.job.telemetry.driver_state import DriverState, PartitionLag
from trimtab.job.telemetry.lag import HISTORY, EndHistory, LagPoller


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

    def end_offsets(self, topics: Sequence[str]) -> Offsets:
        if self.ends is None or topics != ["in"]:
            raise UnavailableError("no answer")
        return self.ends

    def out_of_sync(self, topics: Sequence[str]) -> int:
        assert topics == ["in"]
        self.looks += 1
        return self.looks


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

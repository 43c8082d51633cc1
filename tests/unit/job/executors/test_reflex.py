"""The driver's reflex among its neighbours: which table counts, and which polls."""

from __future__ import annotations

import pytest
from tests.unit.tuning.test_reflex import TABLE

from trimtab.job.executors.reflex import DriverReflex
from trimtab.job.telemetry.driver_state import DriverState, PartitionLag

T0 = TABLE.expires_s - 1000


class Source:
    """A driver whose source gets so many records a second, in two partitions."""

    def __init__(self, text: str = TABLE.to_json()) -> None:
        self.driver = DriverState()
        self.reflex = DriverReflex(self.driver, "uid")
        self.reflex.offer(text)
        self.now, self.end = T0, 0

    def come(self, rate: int, *, generation: int = 1, executors: int = 1) -> int | None:
        self.now += 1
        self.end += rate // 2
        lag = PartitionLag(self.end, 0, 0.0)
        self.driver.lag, self.driver.polled_s = {("in", 0): lag, ("in", 1): lag}, self.now
        return self.reflex.look(generation, executors)


def test_it_asks_for_executors_once_the_polls_say_so() -> None:
    source = Source()
    assert [source.come(90) for _ in range(4)] == [None] * 4
    assert [source.come(400) for _ in range(4)][-1] == 4


def test_the_same_poll_counts_once() -> None:
    source = Source()
    for _ in range(3):
        source.come(400)
    assert source.come(400) is None
    assert [source.reflex.look(1, 1) for _ in range(3)] == [None] * 3
    assert source.come(400) == 4


@pytest.mark.parametrize(
    "text",
    ["", "{", TABLE.to_json().replace('"schema": 1', '"schema": 2'),
     TABLE.to_json().replace('"uid"', '"else"')],
)  # fmt: skip
def test_an_odd_table_is_none(text: str) -> None:
    source = Source(text)
    assert [source.come(400) for _ in range(9)] == [None] * 9


def test_a_table_counts_for_its_generation_only() -> None:
    source = Source()
    assert [source.come(400, generation=2) for _ in range(9)] == [None] * 9


def test_a_table_that_is_withdrawn_is_gone() -> None:
    source = Source()
    for _ in range(8):
        source.come(400)
    source.reflex.offer("")
    assert source.come(400) is None


def test_nothing_is_asked_while_the_api_server_refuses_executors_or_the_lag_is_unknown() -> None:
    refused = Source()
    refused.driver.executors_refused = "exceeded quota"
    assert [refused.come(400) for _ in range(9)] == [None] * 9
    unknown = Source()
    for _ in range(8):
        unknown.come(400)
    unknown.driver.lag = unknown.driver.polled_s = None
    assert unknown.reflex.look(1, 1) is None
    assert [unknown.come(400) for _ in range(4)] == [None] * 4, "the polls begin anew"


def test_new_partitions_are_no_input() -> None:
    source = Source()
    for _ in range(6):
        source.come(90)
    source.now += 1
    lag = PartitionLag(source.end, 0, 0.0)
    source.driver.lag = {("in", p): lag for p in range(20)}
    source.driver.polled_s = source.now
    assert source.reflex.look(1, 1) is None
    source.now += 1
    source.driver.polled_s = source.now
    assert source.reflex.look(1, 1) is None

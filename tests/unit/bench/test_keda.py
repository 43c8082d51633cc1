"""KEDA's Kafka scaler: its own vectors, and its limits."""

from __future__ import annotations

import pytest
from bench.peers.controller import Limits
from bench.peers.keda import Keda, Parameters, factors, metric, next_factor
from tests.unit.bench.seen import settings, signals

FACTORS = {
    10: [1, 2, 5, 10],
    13: [1, 13],
    17: [1, 17],
    25: [1, 5, 25],
    50: [1, 2, 5, 10, 25, 50],
    100: [1, 2, 4, 5, 10, 20, 25, 50, 100],
}


@pytest.mark.parametrize(("number", "expected"), FACTORS.items())
def test_find_factors(number: int, expected: list[int]) -> None:
    assert factors(number) == expected


NEXT = [(10, 1), (20, 2), (40, 4), (50, 5), (99, 10), (100, 10), (101, 20)]


@pytest.mark.parametrize(("lag", "expected"), NEXT)
def test_get_next_factor(lag: int, expected: int) -> None:
    assert next_factor(lag, 100, 10) == expected


def test_consumers_beyond_the_partitions_are_not_asked_for() -> None:
    assert metric(500, 12, 12, Parameters()) == 120
    assert metric(129, 12, 12, Parameters()) == 129  # 129 // 10 is not more than 12
    assert metric(500, 12, 12, Parameters(allow_idle_consumers=True)) == 500
    assert metric(500, 12, 3, Parameters(limit_to_partitions_with_lag=True)) == 30
    assert metric(70, 12, 12, Parameters(ensure_even_distribution=True)) == 120


def test_an_hpa_sync_doubles_at_most() -> None:
    peer = Keda(Limits(1, 20), Parameters(lag_threshold=100))
    seen = signals(15, lag_records=900)
    assert peer.decide(10, seen, settings(3)).executors == 3
    assert peer.decide(15, seen, settings(3)).executors == 6
    assert peer.decide(30, seen, settings(6)).executors == 9
    assert peer.decide(45, None, settings(9)).executors == 9


def test_the_window_of_stabilisation_can_be_set() -> None:
    peer = Keda(Limits(1, 20), Parameters(lag_threshold=100, stabilisation_s=30))
    assert peer.decide(15, signals(15, lag_records=900), settings(9)).executors == 9
    assert peer.decide(30, signals(30, lag_records=100), settings(9)).executors == 9
    assert peer.decide(45, signals(45, lag_records=100), settings(9)).executors == 1

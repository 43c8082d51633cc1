"""Spark's PIDRateEstimatorSuite, and the law of its ExecutorAllocationManager."""

from __future__ import annotations

import random
from typing import Any

import pytest
from bench.peers.controller import Limits
from bench.peers.spark_allocation import Parameters, SparkAllocation
from bench.peers.spark_pid import PidRateEstimator
from tests.unit.bench.seen import batch, settings, signals

RANGES = [
    {"interval_ms": 0},
    {"proportional": -1.0},
    {"integral": -1.0},
    {"derivative": -1.0},
    {"min_rate": 0.0},
    {"min_rate": -10.0},
]


@pytest.mark.parametrize("wrong", RANGES, ids=lambda w: next(iter(w)))
def test_estimator_checks_ranges(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        PidRateEstimator(**{"interval_ms": 100, **wrong})


def plain() -> PidRateEstimator:
    return PidRateEstimator(20, 1, 0, 0, 10)


def test_the_first_estimate_is_none_and_the_second_is_the_speed() -> None:
    pid = plain()
    assert pid.compute(0, 10, 10, 0) is None
    assert pid.compute(10, 10, 10, 0) == 1000
    assert pid.compute(10, 10, 10, 0) is None


@pytest.mark.parametrize(("records", "processing_ms"), [(0, 10), (-10, 10), (10, 0), (10, -10)])
def test_no_estimate_without_records_or_processing(records: int, processing_ms: int) -> None:
    pid = plain()
    pid.compute(0, 10, 10, 0)
    assert pid.compute(10, records, processing_ms, 0) is None


def fifty(pid: PidRateEstimator, records: list[int], waits: list[int]) -> list[float | None]:
    return [pid.compute(20 * i, records[i], 20, waits[i]) for i in range(50)]


def test_estimate_is_never_less_than_the_least_rate() -> None:
    assert fifty(PidRateEstimator(20, 1, 1, 0, 5), [1] * 50, [100] * 50) == [None, *[5.0] * 49]


@pytest.mark.parametrize("rising", [True, False])
def test_without_waits_it_follows_the_processing_speed(rising: bool) -> None:
    records = [20 * (i + 1 if rising else 50 - i) for i in range(50)]
    rates = fifty(PidRateEstimator(20, 1, 1, 0, 10), records, [0] * 50)
    assert rates[0] is None
    assert rates[1:] == pytest.approx([50.0 * n for n in records[1:]])


def test_with_waits_it_stays_below_the_processing_speed() -> None:
    rng = random.Random(7)
    records = [rng.randrange(1, 1000) for _ in range(50)]
    waits = [rng.randrange(19) for _ in range(50)]
    rates = fifty(PidRateEstimator(20, 1, 0.01, 0, 10), records, waits)
    for rate, n, wait in list(zip(rates, records, waits, strict=True))[1:]:
        assert rate is not None
        assert not wait or rate < n / 20 * 1000 or rate == 10


def run(
    peer: SparkAllocation, durations_s: list[float], executors: int, trigger_s: float = 10
) -> int:
    step_s = 60 // len(durations_s)
    wanted = settings(executors, trigger_s)
    for i, duration_s in enumerate(durations_s, 1):
        at_s = i * step_s
        seen = signals(
            at_s, batch=batch(id=i, duration_s=duration_s, committed_at_s=at_s),
            executors_running=executors,
        )  # fmt: skip
        wanted = peer.decide(at_s, seen, settings(executors, trigger_s))
    return wanted.executors


SUITE = [
    # ExecutorAllocationManagerSuite: batch time at an interval of 1 s, active, least, most -> total
    (1.0, 2, 1, 99, 3),
    (2.0, 2, 1, 99, 4),
    (0.901, 2, 1, 99, 3),
    (0.899, 2, 1, 99, 2),
    (0.301, 2, 1, 99, 2),
    (0.299, 2, 1, 99, 1),
    (1.0, 1, 2, 99, 2),
    (2.0, 1, 2, 99, 3),
    (2.0, 2, 2, 99, 4),
    (2.0, 1, 1, 2, 2),
    (2.0, 2, 1, 2, 2),
    (0.1, 2, 2, 99, 2),
    (0.1, 3, 2, 99, 2),
    (0.1, 1, 1, 99, 1),
]


@pytest.mark.parametrize(("duration_s", "active", "least", "most", "expected"), SUITE)
def test_executor_allocation_manager_suite(
    duration_s: float, active: int, least: int, most: int, expected: int
) -> None:
    peer = SparkAllocation(Limits(least, most), Parameters())
    assert run(peer, [duration_s], active, trigger_s=1) == expected


@pytest.mark.parametrize(
    ("durations_s", "expected"),
    [([9, 9, 9], 6), ([8.9, 8.9, 8.9], 5), ([20, 30, 40], 8), ([3, 3], 4), ([3.1, 3.1], 5)],
)
def test_ratios_of_batch_time_to_trigger(durations_s: list[float], expected: int) -> None:
    assert run(SparkAllocation(Limits(1, 20), Parameters()), durations_s, 5) == expected


def test_with_backpressure_the_batch_limit_follows_the_speed() -> None:
    """1000 records in 20 s are 50/s, below the least rate of 100/s: 1000 in a trigger of 10 s."""
    peer = SparkAllocation(Limits(1, 20), Parameters(backpressure=True))
    first = signals(10, batch=batch(1, 4000, 8, committed_at_s=8), executors_running=2)
    later = signals(30, batch=batch(2, 1000, 20, committed_at_s=28), executors_running=2)
    assert peer.decide(10, first, settings(2)).max_offsets == 10_000
    assert peer.decide(30, later, settings(2)).max_offsets == 1000

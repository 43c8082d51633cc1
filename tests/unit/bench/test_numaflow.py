"""Numaflow's scaling_test for a source, and its steps and cool-downs."""

from __future__ import annotations

import pytest
from bench.peers.controller import Limits
from bench.peers.numaflow import Numaflow, Parameters, desired_replicas
from tests.unit.bench.seen import settings, signals

VECTORS = [
    ([0, 0], [0, 0], 1),
    ([0.1], [3], 3),  # 12 replicas for 3 records
    ([250, 500, 750], [10010, 800, 1200], 16),
    ([450, 500, 750], [10010, 800, 1200], 9),
    ([450, 20, 750], [10010, 800, 1200], 16),
    ([450, 20, 750], [18932, 800, 1200], 17),
    ([800, 200, 750], [18932, 800, 24988], 13),
    ([800, 210, 750], [18932, 800, 24988], 13),
    ([800, 21, 750], [18932, 800, 24988], 15),
]


@pytest.mark.parametrize(("rates", "pendings", "expected"), VECTORS)
def test_desired_replicas_of_a_source(
    rates: list[float], pendings: list[int], expected: int
) -> None:
    assert desired_replicas(rates, pendings, ready=2, target_s=5) == expected


def test_it_takes_two_steps_at_a_time_and_rests_between_them() -> None:
    """100/s come in, 100/s are done, 4000 are pending: 40 s instead of 20, twice the replicas."""
    peer, executors, moved = Numaflow(Limits(1, 20), Parameters()), 4, []
    for now_s in range(10, 200, 10):
        seen = signals(now_s, input_rate=100, lag_records=4000, executors_running=4)
        wanted = peer.decide(now_s, seen, settings(executors)).executors
        if wanted != executors:
            moved.append((now_s, wanted))
        executors = wanted
    assert moved == [(30, 6), (120, 8)]

"""The Flink autoscaler's JobVertexScalerTest, re-read as vectors of the law."""

from __future__ import annotations

import pytest
from bench.peers.flink import Parameters, outside_bounds, parallelism, scale, target_capacity

BIG = 2**31 - 1
VECTORS = [
    # parallelism, target rate, true rate, utilisation, max down, max up -> new, outside the band
    (10, 50, 100, 1.0, 1.0, BIG, 5, True),
    (10, 50, 100, 0.8, 1.0, BIG, 8, False),
    (10, 80, 100, 0.8, 1.0, BIG, 10, False),
    (10, 60, 100, 0.8, 1.0, BIG, 8, False),
    (10, 59, 100, 0.8, 1.0, BIG, 8, False),
    (2, 100, 40, 0.5, 1.0, BIG, 10, True),
    (2, 100, 100, 0.6, 1.0, BIG, 4, True),
    (10, 10, 100, 1.0, 0.5, BIG, 5, True),
    (10, 10, 100, 1.0, 0.6, BIG, 4, True),
    (10, 200, 10, 1.0, 0.6, 0.5, 15, True),
    (10, 200, 10, 1.0, 0.6, 0.6, 16, True),
]


@pytest.mark.parametrize(("p", "target", "true", "util", "down", "up", "new", "outside"), VECTORS)
def test_job_vertex_scaler_vectors(
    p: int, target: float, true: float, util: float, down: float, up: float, new: int,
    outside: bool,
) -> None:  # fmt: skip
    parameters = Parameters(utilisation=util, catch_up_s=0, max_scale_down=down, max_scale_up=up)
    chosen = parallelism(parameters, current=p, input_rate=target, true_rate=true, groups=720)
    assert chosen == new
    assert outside_bounds(parameters, input_rate=target, true_rate=true) is outside


SCALE = [
    (1, 0.0001, 720, 1),
    (2, 0.1, 720, 1),
    (6, 0.8, 720, 5),
    (16, 1.5, 128, 24),
    (200, 2, 720, 400),
    (200, BIG, 720, 720),
]


@pytest.mark.parametrize(("current", "factor", "most", "expected"), SCALE)
def test_parallelism_computation(current: int, factor: float, most: int, expected: int) -> None:
    assert scale(current, factor, least=1, most=most) == expected


ALIGNED = [
    # current, factor, key groups, least, most -> expected
    (6, 0.8, 36, 1, BIG, 6),
    (16, 1.5, 128, 1, BIG, 32),
    (200, 1.3, 720, 1, BIG, 360),
    (200, BIG, 720, 1, BIG, 720),
    (10, 2.5, 128, 1, BIG, 32),
    (6, 0.8, 720, 1, 700, 5),
    (8, 0.8, 720, 8, 700, 8),
    (16, 1.5, 128, 60, BIG, 64),
    (200, 2, 720, 1, 300, 240),
    (200, BIG, 720, 1, 600, 360),
]


@pytest.mark.parametrize(("current", "factor", "groups", "least", "most", "expected"), ALIGNED)
def test_parallelism_computation_with_adjustment_and_limits(
    current: int, factor: float, groups: int, least: int, most: int, expected: int
) -> None:
    assert scale(current, factor, least=least, most=most, groups=groups) == expected


def test_where_nothing_divides_it_goes_to_where_instances_have_more_groups() -> None:
    """Of 23 groups, 15 instances have 1 or 2; from 11 on downward each has 2 at least."""
    assert scale(10, 1.5, least=1, most=20, groups=23) == 12
    assert scale(12, 1.2, least=1, most=20, groups=23) == 12  # 12 is no step up


def test_lag_and_restart_add_to_the_target_with_the_defaults() -> None:
    """700/s at 0.7 is 1000; 300 s of it within 1800 s is 117 more; a lag adds its own rate."""
    assert target_capacity(Parameters(), input_rate=700, catch_up_rate=50) == 1167
    assert target_capacity(Parameters(), input_rate=700, with_restart=False) == 1000


def test_a_backlog_opens_the_band() -> None:
    assert outside_bounds(Parameters(), input_rate=100, true_rate=900)
    assert not outside_bounds(Parameters(), input_rate=100, true_rate=900, backlog=True)

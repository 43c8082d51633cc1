"""What small batches promise of larger ones, under the noise of the real driver."""

from __future__ import annotations

import math
import random

import pytest

from trimtab.tuning.capacity.fit import fit
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.capacity.points import Point, learn

NOISE, MEMORY, DOUBLED = 0.122, 0.9, 0.03
"""Of the real driver (docs/benchmarks/simulator.md), as `bench/noises.py` has them."""

TRUE, RECORD_S = 125.0, 0.008
"""Records/s that one slot carries when each record takes 8 ms."""

SEEDS = 200


def learned(seed: int, sizes: tuple[int, ...], fixed_s: float) -> Model:
    """The model of 60 batches on one slot, as many of each size."""
    rng, points = random.Random(seed), tuple[Point, ...]()
    drift = rng.gauss(0, 1)
    for number in range(60):
        drift = MEMORY * drift + math.sqrt(1 - MEMORY**2) * rng.gauss(0, 1)
        factor = math.exp(NOISE * drift) * (2 if rng.random() < DOUBLED else 1)
        records = round(sizes[number * len(sizes) // 60] * rng.uniform(0.9, 1.1))
        work_s = (fixed_s + RECORD_S * records) * factor
        points = learn(points, Point(1, records, 0.3, 0.3 + work_s))
    found = fit(points, 12)
    assert found is not None
    return found


@pytest.mark.parametrize("sizes", [(20, 40), (20, 60), (10, 20, 40), (40, 200)])
@pytest.mark.parametrize("fixed_s", [0.1, 0.5])
def test_small_batches_do_not_promise_far_too_much(sizes: tuple[int, ...], fixed_s: float) -> None:
    """Half of the estimates are too high without a margin, and some by a factor of four."""
    found = sorted(learned(seed, sizes, fixed_s).capacity(1) for seed in range(SEEDS))
    assert found[SEEDS // 2] < TRUE
    assert found[int(0.95 * SEEDS)] < 1.55 * TRUE


def test_it_costs_little_where_large_batches_were_seen() -> None:
    found = sorted(learned(seed, (40, 1000), 0.1).capacity(1) for seed in range(SEEDS))
    assert found[SEEDS // 2] > 0.92 * TRUE


def test_the_least_work_of_a_batch_is_half_of_it() -> None:
    """Two batches that took as long say that records cost nothing: nobody believes that."""
    model = fit([Point(1, 100, 0.0, 2.0), Point(1, 400, 0.0, 2.0)], 12)
    assert model is not None
    assert model.capacity(1) == pytest.approx(2 * 400 / 2.0)

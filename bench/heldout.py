"""Loads and capacities that nobody has tuned for: made from a seed, by default that of the commit.

The workloads of the bench have been looked at while the law was written. These have not: their
seed is the number of the commit under test, which nobody knows before the law is finished. Loads
are of five kinds, drawn with their parameters; capacities follow Gunther's universal scalability
law with other coefficients each, and 3 % of error at each point, so they are not the law's own.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml
from bench.commit import head

COUNT = 10
DURATION_S, STEP_S = 5400, 20
EXECUTORS, TRIGGER_S, TARGET_S, BATCH_LIMIT = 26, 5, 12, 200_000
NAME = "held-out"
"""How the names of their workloads begin."""

Levels = list[float]
"""The load at each `STEP_S`, as a share of the highest."""


def seed_of_commit() -> int:
    """The first 28 bits of the commit that is checked out."""
    return int(head()[:7], 16)


def made(seed: int) -> list[dict[str, Any]]:
    """Scenarios as their files have them; the same for the same seed."""
    rng = random.Random(f"held out/{seed}")
    return [_scenario(rng, number) for number in range(1, COUNT + 1)]


def write(seed: int, folder: Path) -> Sequence[Path]:
    """Write them as files, which the other parts of the bench read; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for scenario in made(seed):
        paths.append(folder / f"{scenario['name']}.yaml")
        paths[-1].write_text(yaml.safe_dump(scenario, sort_keys=False))
    return paths


def _scenario(rng: random.Random, number: int) -> dict[str, Any]:
    shape = SHAPES[(number - 1) % len(SHAPES)]
    fixed_s = round(rng.uniform(0.1, 0.8), 2)
    capacity = _capacity(rng)
    most = max(capacity.values()) * (1 - fixed_s / TRIGGER_S)
    high = most * rng.uniform(0.4, 0.75)
    levels = shape(rng, DURATION_S // STEP_S)
    load = [
        [n * STEP_S, round(high * min(max(level, 0.02), 1.0))] for n, level in enumerate(levels)
    ]
    return {
        "name": f"{NAME}-{number}-{shape.__name__.strip('_')}",
        "duration": DURATION_S, "tick": 10, "partitions": 2 * EXECUTORS,
        "load": {"step": load, "noise": 0.05},
        "plant": {
            "capacity": capacity,
            "batch": {"fixed_s": fixed_s, "noise": 0.05},
            "change": {"start_s": round(rng.uniform(3, 30))},
            "metrics": {"scrape_s": 5, "delay_s": 5},
        },
        "goal": {"latency": {"percentile": 95, "target": TARGET_S}},
        "limits": {"executors": {"min": 1, "max": EXECUTORS}},
        "tuning": {"pinned": {"trigger": TRIGGER_S, "maxOffsetsPerTrigger": BATCH_LIMIT}},
        "start": {
            "executors": rng.randint(1, 12), "trigger": TRIGGER_S,
            "maxOffsetsPerTrigger": BATCH_LIMIT,
        },
    }  # fmt: skip


def _capacity(rng: random.Random) -> dict[int, float]:
    """Records/s by executors: p / (1 + α(p - 1) + βp(p - 1)), Gunther 1993."""
    each, alpha, beta = math.exp(rng.uniform(5.3, 6.8)), rng.uniform(0, 0.05), rng.uniform(0, 3e-4)
    return {
        p: round(each * p / (1 + alpha * (p - 1) + beta * p * (p - 1)) * (1 + rng.gauss(0, 0.03)))
        for p in range(1, EXECUTORS + 1)
    }


def _waves(rng: random.Random, count: int) -> Levels:
    """Two or three sines, one upon another."""
    parts = [
        (rng.uniform(0.1, 0.3), math.exp(rng.uniform(6, 8.5)), rng.uniform(0, 2 * math.pi))
        for _ in range(rng.randint(2, 3))
    ]
    return [
        0.5 + sum(a * math.sin(2 * math.pi * n * STEP_S / t + phase) for a, t, phase in parts)
        for n in range(count)
    ]


def _stairs(rng: random.Random, count: int) -> Levels:
    """Four to eight levels, of which each may be far from the last."""
    ends = sorted(rng.sample(range(10, count), rng.randint(4, 8)))
    heights = [math.exp(rng.uniform(-2.5, 0)) for _ in range(len(ends) + 1)]
    return [heights[sum(n >= end for end in ends)] for n in range(count)]


def _surges(rng: random.Random, count: int) -> Levels:
    """A quiet load with three to six surges, each at once and then gone by degrees."""
    surges = [
        (rng.randrange(15, count), rng.uniform(0.3, 0.8), rng.uniform(3, 30))
        for _ in range(rng.randint(3, 6))
    ]
    return [
        0.2 + sum(size * math.exp((at - n) / decay) for at, size, decay in surges if n >= at)
        for n in range(count)
    ]


def _wandering(rng: random.Random, count: int) -> Levels:
    """A random walk that is drawn back to its middle."""
    level, levels = 0.0, []
    pull, step = rng.uniform(0.005, 0.03), rng.uniform(0.03, 0.12)
    for _ in range(count):
        level += -pull * level + rng.gauss(0, step)
        levels.append(0.4 * math.exp(level))
    return levels


def _ramps(rng: random.Random, count: int) -> Levels:
    """Straight lines between four to seven points."""
    ends = [0, *sorted(rng.sample(range(10, count - 1), rng.randint(2, 5))), count]
    heights = [rng.uniform(0.05, 1.0) for _ in ends]
    found = []
    for n in range(count):
        part = sum(n >= end for end in ends) - 1
        share = (n - ends[part]) / (ends[part + 1] - ends[part])
        found.append(heights[part] + share * (heights[part + 1] - heights[part]))
    return found


SHAPES: tuple[Callable[[random.Random, int], Levels], ...] = (
    _waves, _stairs, _surges, _wandering, _ramps,
)  # fmt: skip

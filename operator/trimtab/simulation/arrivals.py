"""Fluid FIFO arrivals: a piecewise-constant rate, its integral, and the integral's inverse."""

from __future__ import annotations

import bisect
import csv
import math
import random
from collections.abc import Callable
from pathlib import Path

from trimtab.errors import BadInputError
from trimtab.simulation.scenario import Scenario
from trimtab.simulation.shapes import Bursts, Drift, Load, Walk


class Arrivals:
    """Records that have arrived by a given time; `backlog` were there at t = 0.

    `plain` are the steps without noise, if they have any.
    """

    def __init__(
        self,
        steps: list[tuple[float, float]],
        duration_s: float,
        backlog: float,
        plain: list[tuple[float, float]] | None = None,
    ) -> None:
        self.steps, self.plain = steps, plain or steps
        self.starts_s = [start for start, _ in steps]
        self.totals = [backlog]
        ends = [*self.starts_s[1:], max(duration_s, self.starts_s[-1])]
        for (start, rate), end in zip(steps, ends, strict=True):
            self.totals.append(self.totals[-1] + rate * (end - start))

    def rate(self, at_s: float) -> float:
        """Records/s at a time."""
        return _rate(self.steps, at_s)

    def plain_rate(self, at_s: float) -> float:
        """Records/s at a time without noise: the level that figures compare with."""
        return _rate(self.plain, at_s)

    def total(self, at_s: float) -> float:
        """Records that arrived until then, including the initial backlog."""
        index = max(0, bisect.bisect_right(self.starts_s, at_s) - 1)
        start, rate = self.steps[index]
        return self.totals[index] + rate * max(0.0, at_s - start)

    def time_of(self, record: float) -> float:
        """When that record arrived, in seconds; 0 for records of the initial backlog."""
        if record <= self.totals[0]:
            return 0.0
        index = max(0, min(bisect.bisect_left(self.totals, record) - 1, len(self.steps) - 1))
        start, rate = self.steps[index]
        return start + (record - self.totals[index]) / rate if rate > 0 else start


def arrivals(scenario: Scenario, seed: int) -> Arrivals:
    """The arrivals of a scenario; noise and walks use the random stream `load` of the seed."""
    rng = random.Random(f"{scenario.name}/{seed}/load")
    plain = _steps(scenario.load, scenario.duration, rng)
    steps = _noisy(plain, scenario.load.noise, scenario.duration, rng)
    return Arrivals(steps, scenario.duration, scenario.start.backlog, plain)


def _rate(steps: list[tuple[float, float]], at_s: float) -> float:
    return steps[max(0, bisect.bisect_right(steps, at_s, key=lambda step: step[0]) - 1)][1]


def _noisy(
    plain: list[tuple[float, float]], noise: float, duration_s: float, rng: random.Random
) -> list[tuple[float, float]]:
    """One factor 1 + N(0, noise), at least 0, per second; steps keep their own times."""
    if not noise:
        return plain
    factors = [max(0.0, 1 + noise * rng.gauss(0, 1)) for _ in range(math.ceil(duration_s))]
    times = {float(t) for t in range(len(factors))} | {t for t, _ in plain if t < duration_s}
    return [(t, _rate(plain, t) * factors[int(t)]) for t in sorted(times)]


def _steps(load: Load, duration_s: float, rng: random.Random) -> list[tuple[float, float]]:
    if load.step:
        return [(float(t), float(r)) for t, r in load.step]
    if load.csv:
        return _read_csv(Path(load.csv))
    if load.walk:
        return _walk(load.walk, duration_s, rng)
    if load.drift:
        return _drift(load.drift, duration_s, rng)
    if load.bursts:
        return _bursts(load.bursts, duration_s, rng)
    shape = _shape(load)
    return [(float(t), shape(t + 0.5)) for t in range(math.ceil(duration_s))]


def _shape(load: Load) -> Callable[[float], float]:
    if c := load.cosine:
        return lambda t: max(
            0.0, c.mean + c.amplitude * math.cos(2 * math.pi * (t - c.phase_s) / c.period_s)
        )
    if r := load.ramp:
        span = max(r.end_s - r.start_s, 1e-9)
        return lambda t: r.low + (r.high - r.low) * min(max((t - r.start_s) / span, 0.0), 1.0)
    if s := load.spikes:
        return lambda t: s.peak if t % s.every_s < s.width_s else s.base
    if d := load.diurnal:
        return lambda t: d.low + (d.high - d.low) * (1 - math.cos(2 * math.pi * t / d.period_s)) / 2
    raise BadInputError("load: no shape")


def _walk(walk: Walk, duration_s: float, rng: random.Random) -> list[tuple[float, float]]:
    return _wander(walk, duration_s, lambda: rng.gauss(0, walk.step))


def _drift(drift: Drift, duration_s: float, rng: random.Random) -> list[tuple[float, float]]:
    return _wander(drift, duration_s, lambda: rng.uniform(-drift.fall, drift.rise))


def _wander(
    walk: Walk | Drift, duration_s: float, step: Callable[[], float]
) -> list[tuple[float, float]]:
    steps, rate, at_s = [], walk.start, 0.0
    while at_s < duration_s:
        steps.append((at_s, rate))
        rate = min(max(rate + step(), walk.low), walk.high)
        at_s += walk.every_s
    return steps


def _bursts(bursts: Bursts, duration_s: float, rng: random.Random) -> list[tuple[float, float]]:
    steps, at_s = [(0.0, bursts.base)], 60.0
    while at_s < duration_s:
        if rng.random() < bursts.chance:
            steps.append((at_s, bursts.base + rng.uniform(bursts.low, bursts.high)))
            at_s += rng.uniform(bursts.least_s, bursts.most_s)
            steps.append((at_s, bursts.base))
        at_s += 60
    return steps


def _read_csv(path: Path) -> list[tuple[float, float]]:
    try:
        with path.open() as file:
            rows = list(csv.DictReader(file))
        steps = [(float(r["seconds"]), float(r["records_per_second"])) for r in rows]
        starts = [at for at, _ in steps]
        if not steps or starts[0] != 0 or starts != sorted(set(starts)):
            raise ValueError("the seconds must start at 0 and increase")
        if min(rate for _, rate in steps) < 0:
            raise ValueError("a rate is below 0")
    except (OSError, KeyError, ValueError) as error:
        raise BadInputError(
            f"load.csv {path}: needs a file with the header seconds,records_per_second ({error})"
        ) from error
    return steps

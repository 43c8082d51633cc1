"""Statistics over seeds: mean and spread, ties, and the Pareto front."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean, standard deviation, minimum and maximum of one figure over seeds."""

    mean: float
    sd: float
    least: float
    most: float


def spread(values: Sequence[float]) -> Spread:
    """The spread of at least one value; 0 for one value."""
    sd = statistics.stdev(values) if len(values) > 1 else 0.0
    return Spread(statistics.fmean(values), sd, min(values), max(values))


def compare(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """`less`, `more` or `tie` for ours against theirs, seed by seed.

    A seed gives both the same load and the same noise, so the differences by seed count. A mean
    difference within one standard deviation of them is a tie.
    """
    differences = spread([a - b for a, b in zip(ours, theirs, strict=True)])
    if abs(differences.mean) <= differences.sd or differences.mean == 0:
        return "tie"
    return "less" if differences.mean < 0 else "more"


Point = tuple[float, float]
"""Two figures; less is better."""


def dominates(one: Point, other: Point) -> bool:
    """Whether one is no worse in both and better in one."""
    return one[0] <= other[0] and one[1] <= other[1] and one != other


def front(points: Sequence[Point]) -> list[Point]:
    """The points that no other point dominates, each once."""
    return sorted({p for p in points if not any(dominates(o, p) for o in points)})

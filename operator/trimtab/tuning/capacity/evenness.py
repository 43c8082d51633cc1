"""How even batches are: the factor over its predicted time that nearly every batch stays below.

The factor is followed batch by batch, as adaptive conformal inference does it (Gibbs and Candès
2021): a batch that took longer raises it by a step, and the others lower it by so much less that it
settles where one batch in fifty takes longer. What makes batches uneven need not be known, and
errors of the model count like noise.
"""

from __future__ import annotations

START = 1.2
"""Before anything is known."""

LEAST, MOST = 1.1, 2.0
UP, DOWN, EVERY = 0.02, 0.02, 50
"""A batch beyond the factor raises it by `UP`; of the others every 50th lowers it by `DOWN`, so
that a steady pipeline's memory rarely changes. They balance at UP · share = DOWN / EVERY: 2 %."""

DOUBT = 0.15
"""The most that a comparison may mislead beyond the usual: what helps nothing must still show."""


def follow(slow: float, ratio: float, number: int) -> float:
    """The factor after a batch with its `number`, which took `ratio` times what was predicted.

    `slow` is the factor before, 0 if nothing is known.
    """
    slow = slow or START
    if ratio > slow:
        return round(min(MOST, slow + UP), 2)
    return round(max(LEAST, slow - DOWN), 2) if number % EVERY == 0 else slow


def doubt(slow: float) -> float:
    """By how much more than usual a comparison of a few batches may mislead, as a share."""
    return min(DOUBT, max(0.0, slow - START))


def room(slow: float, higher: float) -> float:
    """How far above a load of `higher` even a slow batch still fits its trigger; 0 if unknown."""
    return max(0.0, 1 / slow - higher) if slow else 0.0

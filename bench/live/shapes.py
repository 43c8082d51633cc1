"""The loads: steps of (seconds, records/s) for the generator."""

from __future__ import annotations

import math

Shape = tuple[tuple[float, float], ...]

LOW, HIGH = 150.0, 600.0
"""Records/s. One executor with one call of 8 ms at a time processes at most 125."""

STEP: Shape = ((60.0, LOW), (180.0, HIGH), (120.0, LOW))
PERIOD_S, PIECES = 360.0, 36


def _cosine() -> Shape:
    """One period, from the low rate to the high one and back, in steps of ten seconds."""
    mean, swing = (HIGH + LOW) / 2, (HIGH - LOW) / 2
    return tuple(
        (PERIOD_S / PIECES, round(mean - swing * math.cos(2 * math.pi * (i + 0.5) / PIECES), 1))
        for i in range(PIECES)
    )


COSINE = _cosine()
SHAPES: dict[str, Shape] = {"step": STEP, "cosine": COSINE}


def seconds(shape: Shape) -> float:
    """The length of a shape, in seconds."""
    return sum(length for length, _ in shape)


def at(shape: Shape, second: float) -> float:
    """Records/s at a second of a shape; after its end, its last rate."""
    for length, rate in shape:
        if second < length:
            return rate
        second -= length
    return shape[-1][1]

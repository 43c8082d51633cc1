"""Figures of one contender's run, from its batches. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.live.points import TARGET_S
from bench.simreal.seen import Batch


@dataclass(frozen=True, slots=True)
class Span:
    """An interval of wall time."""

    begin_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end_s - self.begin_s


def changes(samples: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The samples (second, value) at which the value changes, and the last one."""
    if not samples:
        return []
    kept = [samples[0], *(b for a, b in pairwise(samples) if a[1] != b[1])]
    return [(round(at, 1), value) for at, value in [*kept, samples[-1]]]


def longest_break(batches: Sequence[Batch], span: Span) -> float:
    """The longest time in seconds for which the latency goal was broken."""
    longest, since_s, last_s = 0.0, None, span.begin_s
    for batch in batches:
        if not span.begin_s < batch.committed_s <= span.end_s:
            continue
        if batch.p95_s <= TARGET_S:
            since_s = None
        else:
            since_s = last_s if since_s is None else since_s
            longest = max(longest, batch.committed_s - since_s)
        last_s = batch.committed_s
    return longest

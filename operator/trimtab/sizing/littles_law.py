"""Little's law: number in flight = rate × time each takes (Little 1961)."""

from __future__ import annotations

import math


def throughput(in_flight: float, seconds: float) -> float:
    """Records/s if `in_flight` records are under way for `seconds` each."""
    return in_flight / seconds


def in_flight(rate: float, seconds: float) -> float:
    """Records, or calls, in flight at a rate (1/s) if each takes `seconds`."""
    return rate * seconds


def calls_per_task(rate: float, call_s: float, slots: int) -> int:
    """The fewest calls in flight per task (one task per slot) that carry a rate; at least 1."""
    return max(1, math.ceil(round(in_flight(rate, call_s) / slots, 9)))


def quantile_at_median(parts: int) -> float:
    """The quantile of a part's time that is the median of what waits for all of `parts` parts.

    Half of the waits are longer than p with p**parts = 0.5. With 14 equal parts, each one's 95th
    percentile has become the median of the whole.
    """
    return float(0.5 ** (1 / parts))

"""Little's law: what is under way = rate × the time that each takes (Little 1961)."""

from __future__ import annotations

import math


def throughput(in_flight: float, seconds: float) -> float:
    """Records/s of so many records under way that take so long each."""
    return in_flight / seconds


def in_flight(rate: float, seconds: float) -> float:
    """Records, or calls, under way at a rate (1/s) where each takes so long."""
    return rate * seconds


def calls_per_task(rate: float, call_s: float, slots: int) -> int:
    """The fewest calls in flight of each of so many tasks that carry a rate; at least 1."""
    return max(1, math.ceil(round(in_flight(rate, call_s) / slots, 9)))


def flow_quantile(quantile: float, stages: int) -> float:
    """The share of records that stay below a stage's quantile in all of so many equal stages.

    With 14 stages a record passes all of them below their 95th percentile about every second
    time: the slowest stage's p95 has become the median of the flow.
    """
    return float(quantile**stages)


def stages_to_median(quantile: float) -> float:
    """So many equal stages in a row turn a stage's quantile into the median of the flow."""
    return math.log(0.5) / math.log(quantile)

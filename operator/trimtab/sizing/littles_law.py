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


def flow_quantile(quantile: float, stages: int) -> float:
    """The share of records that stay below a stage's quantile in all of `stages` equal stages.

    With 14 stages about half of the records stay below the 95th percentile in all of them: the
    slowest stage's p95 has become the median of the flow.
    """
    return float(quantile**stages)


def stages_to_median(quantile: float) -> float:
    """Number of equal stages in a row that turn a stage's quantile into the flow's median."""
    return math.log(0.5) / math.log(quantile)

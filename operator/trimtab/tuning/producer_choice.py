"""What the probes of a producer say of its settings, some of them tried again: which are best."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from trimtab.tuning.producer import Probe, ProducerSettings

CLOSE = 0.75
"""Share of the best rate from which another may be as good: two seconds on loopback were seen to
give twice what the next two gave."""


def best_of(probes: Sequence[Probe], goal_s: float) -> Probe:
    """The highest rate of the settings that are expected to meet the goal; if none are, the
    lowest latency."""
    late = [late_s(probes, each.settings) for each in probes]
    holding = [p for p, s in zip(probes, late, strict=True) if s <= goal_s]
    if holding:
        return max(holding, key=lambda p: rate_of(probes, p.settings))
    return min(zip(late, probes, strict=True), key=lambda each: each[0])[1]


def rate_of(probes: Sequence[Probe], settings: ProducerSettings) -> float:
    """The bytes/s to expect of settings: the mean of their probes."""
    return statistics.fmean(p.rate for p in probes if p.settings == settings)


def late_s(probes: Sequence[Probe], settings: ProducerSettings) -> float:
    """The p95 to expect of settings: the mean of their probes and one standard error more.

    One probe says nothing of its own spread, so it stands for itself; the search repeats it where
    that matters.
    """
    logs = [math.log(p.p95_s) for p in probes if p.settings == settings]
    spread = statistics.stdev(logs) if len(logs) > 1 else 0.0
    return math.exp(statistics.fmean(logs) + spread / math.sqrt(len(logs)))


def rivals(probes: Sequence[Probe], best: ProducerSettings, goal_s: float) -> bool:
    """Whether other settings are expected to meet the goal at nearly the rate of the best."""
    enough = CLOSE * rate_of(probes, best)
    others = {p.settings for p in probes} - {best}
    return any(
        rate_of(probes, each) >= enough and late_s(probes, each) <= goal_s for each in others
    )

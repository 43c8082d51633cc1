"""The page of the producer bench: a rate counts only where the latency goal holds as well."""

from __future__ import annotations

import pytest
from bench.producer.__main__ import Row, page

from trimtab.tuning.producer import Probe, ProducerSettings

SETTINGS = ProducerSettings(16_384, 1, "none")


def probe(rate: float, p95_s: float) -> Probe:
    return Probe(SETTINGS, rate, p95_s, 0.005)


@pytest.mark.parametrize(
    ("rate", "p95_s", "verdict"),
    [
        (95e6, 0.1, "| 0.95 | met |"),
        (85e6, 0.1, "| 0.85 | MISSED |"),
        (95e6, 0.3, "| 0.95 | MISSED: p95 above the goal |"),
    ],
)
def test_a_rate_counts_where_the_goal_holds(rate: float, p95_s: float, verdict: str) -> None:
    best = [probe(100e6, 0.1)]
    row = Row(5.0, best, ["the start"], best, best, [probe(rate, p95_s)])
    assert verdict in page([row], 0.2, "abc")

"""The page of the producer bench: a rate counts only where the latency goal holds as well."""

from __future__ import annotations

import pytest
from bench.producer.__main__ import REPEATS, Row, page, row

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
    row = Row(5.0, best, ["the start"], best, [], best, [probe(rate, p95_s)])
    assert verdict in page([row], 0.2, "abc")


def test_a_point_of_the_grid_that_held_the_goal_by_luck_gives_way() -> None:
    """The largest batches hold the goal in the grid only; those of 64 KiB hold it always."""
    seen: dict[ProducerSettings, int] = {}

    def measure(settings: ProducerSettings) -> Probe:
        seen[settings] = seen.get(settings, 0) + 1
        slow = settings.batch_bytes > 65_536 and seen[settings] > 1
        return Probe(settings, float(settings.batch_bytes), 0.3 if slow else 0.1, 0.005)

    found = row(0.0, measure, 0.2)
    assert found.grid_again[0].settings.batch_bytes == 65_536
    assert len(found.grid_again) == len(found.tuned_again) == REPEATS
    assert {p.settings.batch_bytes for p in found.lucky} == {262_144, 1_000_000}
    assert "Faster, but above the goal when repeated: batch.size=1000000" in page(
        [found], 0.2, "abc"
    )

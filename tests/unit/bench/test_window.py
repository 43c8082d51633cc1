"""The period and the averages that the peers share."""

from __future__ import annotations

import pytest
from bench.peers.window import Period, Window
from tests.unit.bench.seen import batch, signals


def test_a_period_keeps_its_grid_whatever_the_ticks() -> None:
    period = Period(15)
    assert [t for t in range(10, 100, 10) if period.due(t)] == [20, 30, 50, 60, 80, 90]


def test_a_scrape_counts_once_and_old_ones_go() -> None:
    window = Window(20)
    for now_s, at_s in [(10, 5), (15, 5), (20, 20), (30, 30)]:
        window.add(now_s, signals(at_s, input_rate=at_s, batch=batch(id=at_s // 20)))
    assert [s.sampled_at_s for s in window.samples] == [20, 30]
    assert window.mean(lambda s: s.input_rate) == 25
    assert [b.id for b in window.batches()] == [1]


def test_what_was_done_is_what_came_less_what_was_left() -> None:
    window = Window(60)
    assert window.processed_rate() is None
    for at_s in range(10, 60, 10):
        window.add(at_s, signals(at_s, input_rate=100, lag_records=500 + 30 * at_s))
    assert window.slope(lambda s: s.lag_records) == pytest.approx(30)
    assert window.processed_rate() == pytest.approx(70)


def test_the_unknown_stays_unknown() -> None:
    window = Window(60)
    window.add(10, signals(10))
    assert window.mean(lambda s: s.lag_records) is None
    assert window.slope(lambda s: s.lag_records) is None

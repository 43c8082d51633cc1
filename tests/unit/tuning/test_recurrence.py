"""The recent peak of the input, and for how long it counts."""

from __future__ import annotations

from trimtab.tuning.recurrence import (
    DOUBLINGS,
    HALF_LIFE_S,
    NEVER,
    SOON_S,
    WINDOW_S,
    Recurrence,
)

PEAK = Recurrence(1000.0)


def test_a_steady_input_does_not_change_the_memory() -> None:
    assert all(PEAK.observe(at_s, rate) is PEAK for at_s, rate in ((10, 1080), (20, 830)))


def test_a_higher_input_is_the_peak_at_once() -> None:
    assert PEAK.observe(10, 1200) == Recurrence(1200.0)


def test_a_peak_counts_for_the_window_after_the_input_has_left_it() -> None:
    left = PEAK.observe(10, 400)
    assert left == Recurrence(1000.0, left_s=10)
    assert left.observe(10 + WINDOW_S, 400) is left
    assert left.observe(11 + WINDOW_S, 410) == Recurrence(410.0)


def test_an_input_that_comes_back_keeps_the_peak() -> None:
    assert PEAK.observe(10, 400).observe(50, 950) == Recurrence(1000.0, seen_s=50)


def test_the_window_doubles_with_a_raise_soon_after_a_release_and_is_bounded() -> None:
    now = NEVER
    for turn in range(DOUBLINGS + 2):
        now = now.released(100.0 * turn).raised(100.0 * turn + SOON_S)
        assert now.window_s(100.0 * turn + SOON_S) == WINDOW_S * 2 ** min(turn + 1, DOUBLINGS)


def test_a_raise_long_after_a_release_says_nothing() -> None:
    assert NEVER.released(100).raised(101 + SOON_S) == NEVER
    assert NEVER.raised(100) is NEVER


def test_the_window_halves_when_the_peak_stays_away() -> None:
    twice = Recurrence(doublings=2, seen_s=100)
    assert twice.window_s(99 + HALF_LIFE_S) == 4 * WINDOW_S
    assert twice.window_s(100 + HALF_LIFE_S) == 2 * WINDOW_S
    assert twice.window_s(100 + 9 * HALF_LIFE_S) == WINDOW_S
    assert twice.released(2000).raised(2010).doublings == 2

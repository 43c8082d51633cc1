"""Forecasts: what is usual, what keeps rising, and what became of the raises made on their word."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.unit.tuning.test_decision import memory, overloaded, policy, snapshot

from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.forecast import ahead, ramp
from trimtab.tuning.forecast.record import PATIENCE_S, Record
from trimtab.tuning.forecast.season import BIN_S, DAY, DIGITS, WEEK, Season, clock

MONDAY = 4 * DAY
"""The first quarter-hour of a Monday, counted from the epoch."""


def lived(days: int, rate: float = 100.0, season: Season | None = None, day: int = 0) -> Season:
    """A season after some days with one rate, at the first instant of the next day."""
    seen = season or Season().observe((MONDAY + day * DAY) * BIN_S, None)
    for number in range(day * DAY + 1, (day + days) * DAY + 1):
        seen = seen.observe((MONDAY + number) * BIN_S, rate)
    return seen


def usual_of_day(season: Season, number: int) -> float:
    """What is usual at that time on a day whose week is not known."""
    return replace(season, week="").usual(number) or 0.0


def test_nothing_is_expected_before_the_first_day_is_over() -> None:
    season = Season().observe(MONDAY * BIN_S, 100.0)
    assert season.expected(MONDAY * BIN_S) is None


def test_a_quarter_hour_is_expected_five_minutes_early() -> None:
    season = lived(1)
    season = season.observe((MONDAY + DAY + 1) * BIN_S, 100.0)
    noon = MONDAY + DAY + 48
    season = replace(season, day=lived(1, 900.0).day, bin=noon - 1)
    assert season.expected(noon * BIN_S - 299) == (pytest.approx(900, rel=0.01), noon)


def test_rates_are_stored_to_a_quarter_of_a_percent() -> None:
    for rate in (0.0, 0.5, 3.0, 1234.5, 5e8):
        assert lived(1, rate).usual(MONDAY + 7) == pytest.approx(rate, rel=0.0026, abs=0.003)
    assert lived(1, 1e12).usual(MONDAY) == pytest.approx(7.4e8, rel=0.1), "the most it can hold"


def test_what_is_usual_follows_a_high_percentile_and_forgets() -> None:
    season = lived(3, 100.0)
    season = lived(1, 200.0, season, 3)
    high = season.usual(MONDAY + 3 * DAY)
    assert high == pytest.approx(200, rel=0.01), "a Thursday of its own"
    assert usual_of_day(season, 5) == pytest.approx(127, rel=0.02)
    season = lived(3, 100.0, season, 4)
    assert usual_of_day(season, 5) == pytest.approx(100 + 27 * 0.97**3, rel=0.02)


def test_the_day_of_the_week_goes_before_the_day() -> None:
    season = lived(5, 100.0)
    season = lived(2, 10.0, season, 5)
    assert season.usual(MONDAY + WEEK + 5 * DAY) == pytest.approx(10, rel=0.01)
    assert season.usual(MONDAY + WEEK) == pytest.approx(100, rel=0.01)


def test_a_silent_weekend_expects_nothing_of_the_weekdays() -> None:
    season = lived(2, 0.0, lived(5, 100.0), 5)
    saturday = MONDAY + WEEK + 5 * DAY
    assert season.usual(saturday) == 0.0
    quiet = lived(5, 100.0, season, 7)
    assert quiet.expected(saturday * BIN_S) == (0.0, saturday)


def test_it_is_scaled_to_the_level_of_today() -> None:
    season = lived(7, 100.0)
    now = MONDAY + WEEK
    season = season.observe((now + 1) * BIN_S, 50.0)
    rate, _ = season.expected((now + 1) * BIN_S) or (0.0, 0)
    assert rate == pytest.approx(50, rel=0.02)


def test_it_is_silent_while_today_is_another_day_and_comes_back() -> None:
    season, now = lived(7, 100.0), MONDAY + WEEK
    for number in range(1, 4):
        season = season.observe((now + number) * BIN_S, 10.0)
    assert season.expected((now + 3) * BIN_S) is None
    for number in range(4, 11):
        season = season.observe((now + number) * BIN_S, 100.0)
    assert season.expected((now + 10) * BIN_S)


def test_a_quarter_hour_that_was_not_watched_is_not_learned() -> None:
    season = Season().observe(MONDAY * BIN_S, None).observe((MONDAY + 5) * BIN_S, 100.0)
    season = season.observe((MONDAY + 6) * BIN_S, None)
    assert not season.day


def test_it_stays_small_and_comes_back_from_the_status() -> None:
    state = memory(season=lived(14, 123_456.0), forecasts=Record(came=3, missed=1, ahead_s=12.5))
    stored = json.dumps(state.to_dict())
    assert len(json.dumps(state.to_dict()["season"])) < 1700
    assert ControllerState.from_dict(json.loads(stored)) == state


@pytest.mark.parametrize("damage", [{"day": "A"}, {"week": "ä" * 2 * WEEK}, {"day": DIGITS}])
def test_a_damaged_season_begins_afresh(damage: dict[str, str]) -> None:
    stored = memory(season=lived(1)).to_dict()
    stored["season"] |= damage
    assert ControllerState.from_dict(stored).season == Season()


def test_the_clock_is_utc() -> None:
    assert clock(MONDAY) == "Mon 00:00 UTC"
    assert clock(MONDAY + 6 * DAY + 95) == "Sun 23:45 UTC"


# ramps


def rates(at_s: float, shape: str) -> dict[str, float]:
    """The means of a load that is 100/s until 0 and then rises by 1/s, or steps to 400/s."""

    def total(until_s: float) -> float:
        if until_s <= 0:
            return 100 * until_s
        return 400 * until_s if shape == "step" else 100 * until_s + until_s**2 / 2

    spans = {"input_rate": 5, "input_rate_long": 60, "input_rate_2m": 120, "input_rate_4m": 240}
    return {name: (total(at_s) - total(at_s - span)) / span for name, span in spans.items()}


def test_a_ramp_goes_on() -> None:
    signals = replace(overloaded(), **rates(300, "ramp"))
    assert ramp.expected(signals) == pytest.approx(400 + ramp.AHEAD_S, rel=0.03)


def test_a_step_never_looks_like_a_ramp() -> None:
    for at_s in range(0, 400, 5):
        assert ramp.expected(replace(overloaded(), **rates(at_s, "step"))) is None, at_s


def test_what_is_not_known_is_not_expected() -> None:
    for name in rates(300, "ramp"):
        signals = replace(overloaded(), **{**rates(300, "ramp"), name: None})
        assert ramp.expected(signals) is None


def test_it_is_off_when_the_spec_says_so() -> None:
    rising = replace(overloaded(), **rates(300, "ramp"))
    state = memory()
    seen = snapshot(rising, state)
    assert ahead.expected(seen, state)
    off = replace(seen, policy=replace(policy(), forecast=False))
    assert ahead.expected(off, state) is None
    assert ahead.observe(off, state) == state


# what became of them


def test_a_forecast_comes_true_or_is_missed() -> None:
    opened = Record().raised(1000, 500, 300)
    assert opened.observe(1100, 400) == opened
    came = opened.observe(1200, 460)
    assert (came.came, came.missed, came.ahead_s, came.rate) == (1, 0, 200.0, 0.0)
    missed = opened.observe(1000 + 300 + PATIENCE_S + 1, 400)
    assert (missed.came, missed.missed, missed.rate) == (0, 1, 0.0)
    assert came.raised(2000, 500, 300).observe(2100, 500).ahead_s == 150.0


def test_its_words_say_the_gain_and_the_misses() -> None:
    assert Record().words == "no raise was made ahead of the load so far"
    words = Record(came=3, missed=1, ahead_s=41.0).words
    assert words == "3 raises came ahead of the load, 41 s early on average; 1 was for nothing"

"""A rise that has lasted for minutes and still lasts goes on for a while.

The slope is the least of three: within the last samples, within the last minute and over the
minutes before. At any time after a step one of them is near zero, so that only a ramp has a slope.
"""

from __future__ import annotations

from trimtab.tuning.snapshot import Signals

AHEAD_S = 60.0
"""How far a ramp is drawn out: about the time in which started executors take part."""

ALIKE = 0.4
"""Least share of the steepest of the slopes that the others have in a ramp."""

MOST = 1.5
"""The most that a ramp may promise, as a factor of the last minute's input."""


def expected(signals: Signals) -> float | None:
    """Records/s in `AHEAD_S`; None if the input does not rise steadily, or that is unknown."""
    newest, minute = signals.input_rate, signals.input_rate_long
    two, four = signals.input_rate_2m, signals.input_rate_4m
    if newest is None or minute is None or two is None or four is None:
        return None
    second, older = 2 * two - minute, 2 * four - two
    slopes = ((newest - minute) / 30, (minute - second) / 60, (second - older) / 90)
    if min(slopes) <= 0 or min(slopes) < ALIKE * max(slopes):
        return None
    return min(minute + min(slopes) * (30 + AHEAD_S), MOST * minute)

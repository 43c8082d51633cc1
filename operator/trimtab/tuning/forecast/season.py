"""The usual input of each quarter-hour of the day and of the week, in UTC.

A quarter-hour's usual input follows its 90th percentile over the past days or weeks: with each new
value x it moves by UP·(x − usual) if x is larger and by DOWN·(x − usual) if not, so that old values
fade and nine in ten stay below it (an asymmetric exponential smoothing, the stochastic
approximation of a quantile, scaled by the distance).

Only today may contradict it: the season is scaled down to the level of the last quarter-hour, and
is silent while more than two of the last eight were clearly below what was usual.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

BIN_S = 900
DAY, WEEK = 96, 672
"""Quarter-hours of a day and of a week."""

UP, DOWN = 0.27, 0.03
"""Shares of the distance by which the usual input moves; they are as 90 to 10."""

CAME = 0.75
"""Share of the usual input from which a quarter-hour was as usual."""

REMEMBERED, MISSES = 8, 2
"""Quarter-hours that are remembered as usual or not, and how many may be below it."""

HORIZON_S = 300.0
"""How early a quarter-hour's usual input is expected: starting executors takes minutes."""

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
UNKNOWN = ".."
RATIO = math.log(1.005)
"""Rates are stored in two digits as powers of 1.005: to 0.25 %, up to 700 million records/s."""


@dataclass(frozen=True, slots=True)
class Season:
    """The usual input by quarter-hour, two digits each, so that a status can hold it.

    A table is empty until something is known.
    """

    day: str = ""
    week: str = ""
    bin: int | None = None
    """The quarter-hour under way, counted from the epoch."""
    level: float = 1.0
    """Input of the last quarter-hour over the usual one; at most 1."""
    came: str = ""
    """The last quarter-hours: + as usual, - below it."""

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Season:
        """The stored season; an empty one if it is damaged."""
        season = cls(**stored)
        lengths = len(season.day) in {0, 2 * DAY} and len(season.week) in {0, 2 * WEEK}
        return season if lengths and set(season.day + season.week) <= {*DIGITS, "."} else cls()

    def usual(self, number: int) -> float | None:
        """The usual input in records/s of a quarter-hour: that of its week, else of its day."""
        known = _read(self.week, _of_week(number))
        return _read(self.day, number % DAY) if known is None else known

    @property
    def trusted(self) -> bool:
        """Whether the last quarter-hours were mostly as usual."""
        return self.came.count("-") <= MISSES

    def expected(self, now_s: float) -> tuple[float, int] | None:
        """The most that is usual from now until the horizon, and in which quarter-hour."""
        first, last = int(now_s // BIN_S), int((now_s + HORIZON_S) // BIN_S)
        if self.bin != first or not self.trusted:
            return None
        rates = ((self.usual(number), number) for number in range(first, last + 1))
        known = [(rate * self.level, number) for rate, number in rates if rate is not None]
        return max(known, default=None)

    def observe(self, now_s: float, rate: float | None) -> Season:
        """The season after a look at the clock; `rate` is the mean of the last quarter-hour."""
        number = int(now_s // BIN_S)
        if number == self.bin:
            return self
        learned = self
        if self.bin == number - 1 and rate is not None:
            learned = self._learned(self.bin, rate)
        return replace(learned, bin=number)

    def _learned(self, number: int, rate: float) -> Season:
        usual = self.usual(number)
        came, level = self.came, 1.0
        if usual:  # nothing comes in below a usual input of zero
            came = (came + ("+" if rate >= CAME * usual else "-"))[-REMEMBERED:]
            level = round(min(1.0, rate / usual), 2)
        return replace(
            self,
            day=_moved(self.day or UNKNOWN * DAY, number % DAY, rate),
            week=_moved(self.week or UNKNOWN * WEEK, _of_week(number), rate),
            came=came,
            level=level,
        )


def clock(number: int) -> str:
    """A quarter-hour in words."""
    hour, quarter = divmod(number % DAY, 4)
    weekday = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][_of_week(number) // DAY]
    return f"{weekday} {hour:02}:{15 * quarter:02} UTC"


def _of_week(number: int) -> int:
    """The quarter-hour of the week, from Monday on; the epoch was a Thursday."""
    return (number + 3 * DAY) % WEEK


def _read(stored: str, index: int) -> float | None:
    digits = stored[2 * index : 2 * index + 2]
    if digits in {"", UNKNOWN}:
        return None
    level = DIGITS.index(digits[0]) * len(DIGITS) + DIGITS.index(digits[1])
    return math.expm1(RATIO * level)


def _moved(stored: str, index: int, rate: float) -> str:
    before = _read(stored, index)
    if before is not None:
        rate = before + (UP if rate > before else DOWN) * (rate - before)
    level = min(round(math.log1p(rate) / RATIO), len(DIGITS) ** 2 - 1)
    digits = DIGITS[level // len(DIGITS)] + DIGITS[level % len(DIGITS)]
    return stored[: 2 * index] + digits + stored[2 * index + 2 :]

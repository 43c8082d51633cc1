"""What became of the raises that were made ahead of the load: how many it followed, and how soon.

One of them is watched at a time. The load followed if the input came near what was expected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from trimtab.api.quantities import counted

CAME = 0.9
"""Share of the expected input from which a forecast has come true."""

PATIENCE_S = 900.0
"""Seconds after the expected time from which a forecast was wrong: what is usual has no minute."""


@dataclass(frozen=True, slots=True)
class Record:
    """The forecasts that raised something so far."""

    came: int = 0
    missed: int = 0
    ahead_s: float = 0.0
    """Mean of how many seconds the raises were ahead of the load, of those that came true."""
    rate: float = 0.0
    """Records/s that the last one expects; 0 once it has come true or been missed."""
    since_s: float = 0.0
    until_s: float = 0.0

    def raised(self, now_s: float, rate: float, within_s: float) -> Record:
        """The record after a raise ahead of the load; the first one open stays."""
        if self.rate:
            return self
        until_s = now_s + within_s + PATIENCE_S
        return replace(self, rate=round(rate, 1), since_s=now_s, until_s=until_s)

    def observe(self, now_s: float, seen_rate: float) -> Record:
        """The record after a look at the input."""
        if self.rate and seen_rate >= CAME * self.rate:
            came = self.came + 1
            ahead_s = self.ahead_s + (now_s - self.since_s - self.ahead_s) / came
            return replace(self, came=came, ahead_s=round(ahead_s, 1), rate=0.0)
        if self.rate and now_s > self.until_s:
            return replace(self, missed=self.missed + 1, rate=0.0)
        return self

    @property
    def words(self) -> str:
        """The record as a message."""
        if not (self.came or self.missed):
            return "no raise was made ahead of the load so far"
        early = f", {self.ahead_s:.0f} s early on average" if self.came else ""
        came = f"{counted(self.came, 'raise')} came ahead of the load{early}"
        return f"{came}; {self.missed} {'was' if self.missed == 1 else 'were'} for nothing"


NO_RECORD = Record()

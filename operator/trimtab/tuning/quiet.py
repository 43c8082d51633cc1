"""Steady input: once it has been quiet for a while, fewer executors are enough.

The dead band is wide so that a load that moves does not make executors come and go. An input that
has stayed the same for minutes needs less of it: then executors are released to just below the
higher bound. Where that was taken back, it is not tried again at that level for hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

QUIET_S = 300.0
"""Seconds for which the input must have stayed at its level, and nothing was changed."""

SAME_LEVEL = 0.1
"""The input has left its level if it differs by more than this share."""

MEMORY_S = 4 * 3600.0
"""Seconds for which a release that was taken back is remembered."""

LEVELS = 8
"""Levels that are remembered."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """The level of the input and since when. All times are now_s of ticks."""

    rate: float = 0.0
    """Records/s."""
    since_s: float = 0.0
    probed: float | None = None
    """The level of the last release, if only quiet allowed it; None if it was taken back."""
    taken_back: tuple[tuple[float, float], ...] = ()
    """Levels at which such a release was taken back, and when."""

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Quiet:
        """The stored level."""
        levels = tuple((rate, at_s) for rate, at_s in data.get("taken_back", ()))
        return cls(**{**data, "taken_back": levels})

    def observe(self, now_s: float, rate: float) -> Quiet:
        """After a look at the input."""
        return self if _same(rate, self.rate) else replace(self, rate=round(rate, 1), since_s=now_s)

    def light(self, now_s: float) -> bool:
        """Whether executors may be released to just below the higher bound."""
        tried = any(
            _same(rate, self.rate) and now_s - at_s < MEMORY_S for rate, at_s in self.taken_back
        )
        return not tried and now_s - self.since_s >= QUIET_S

    def moved(self, now_s: float) -> Quiet:
        """After a change of any setting."""
        return replace(self, since_s=now_s)

    def released(self, *, quietly: bool) -> Quiet:
        """After a release of executors, `quietly` if the bounds alone would not have allowed it."""
        return replace(self, probed=self.rate if quietly else None)

    def raised(self, now_s: float) -> Quiet:
        """After a raise of executors, or when a release of them was reverted."""
        if self.probed is None:
            return self
        if not _same(self.probed, self.rate):
            return replace(self, probed=None)
        kept = [(rate, at_s) for rate, at_s in self.taken_back if not _same(rate, self.probed)]
        taken_back = (*kept, (self.probed, round(now_s, 1)))[-LEVELS:]
        return replace(self, probed=None, taken_back=taken_back)


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= SAME_LEVEL * max(one, other)


NOT_QUIET = Quiet()

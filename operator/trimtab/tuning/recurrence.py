"""Input that comes back: executors stay for as long as a recent peak is likely to return.

A wave shorter than a release takes to pay off costs a violation with each of its rises. So
executors are released only to what carries the highest input of the last `window_s` as well. The
window is short at first; it doubles with each release that a raise follows soon, and halves again
once the peak no longer comes back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

WINDOW_S = 60.0
"""The shortest window: the input's own mean is over a minute too."""

DOUBLINGS = 3
"""The window grows to 480 s at most: a wave that is longer pays for its releases."""

SOON_S = 300.0
"""A release that a raise follows within this time has not paid off: each rise that meets too few
executors costs about a minute above the goal."""

HALF_LIFE_S = 1800.0
"""Seconds without a return of the peak after which the window halves, as a widened band does."""

LEFT = 0.8
"""The input has left its peak below this share of it; noise does not go that far."""

HIGHER = 1.1
"""A peak is higher than the one known from this factor on: less would be written in every tick."""


@dataclass(frozen=True, slots=True)
class Recurrence:
    """The highest input of late, and how long it is remembered. All times are now_s of ticks."""

    rate: float = 0.0
    """Records/s of the peak."""
    left_s: float | None = None
    """When the input left the peak; None while it is there."""
    released_s: float | None = None
    """When executors were last released."""
    doublings: int = 0
    seen_s: float | None = None
    """When the input last came back to its peak, or the window doubled; None: never."""

    def window_s(self, now_s: float) -> float:
        """Seconds for which a peak counts after the input has left it."""
        return WINDOW_S * 2.0 ** self._doubled(now_s)

    def comes_back(self, now_s: float) -> bool:
        """Whether the input comes in waves: it was back soon, or missed what was released."""
        return self.seen_s is not None and now_s - self.seen_s < HALF_LIFE_S

    def observe(self, now_s: float, rate: float) -> Recurrence:
        """After a look at the input."""
        if rate < LEFT * self.rate:
            if self.left_s is None:
                return replace(self, left_s=now_s)
            over = now_s - self.left_s > self.window_s(now_s)
            return replace(self, rate=round(rate, 1), left_s=None) if over else self
        peak = round(rate, 1) if rate > HIGHER * self.rate else self.rate
        if self.left_s is not None:
            return replace(self, rate=peak, left_s=None, seen_s=now_s)
        return replace(self, rate=peak) if peak > self.rate else self

    def released(self, now_s: float) -> Recurrence:
        """After executors were released."""
        return replace(self, released_s=now_s)

    def raised(self, now_s: float) -> Recurrence:
        """After executors were raised, or those of a release put back."""
        if self.released_s is None:
            return self
        if now_s - self.released_s > SOON_S:
            return replace(self, released_s=None)
        doublings = min(self._doubled(now_s) + 1, DOUBLINGS)
        return replace(self, released_s=None, doublings=doublings, seen_s=now_s)

    def _doubled(self, now_s: float) -> int:
        halvings = 0 if self.seen_s is None else int((now_s - self.seen_s) / HALF_LIFE_S)
        return max(0, self.doublings - halvings)


NEVER = Recurrence()

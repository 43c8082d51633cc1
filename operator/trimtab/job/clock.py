"""The driver's clocks. Its other modules read no clock: code that needs the time is given one."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Gives seconds: since 1970 (`wall_s`), or since some moment (`monotonic_s`)."""


def wall_s() -> float:
    """Seconds since 1970; may jump when the machine's clock is set."""
    return time.time()


def monotonic_s() -> float:
    """Monotonic seconds, for durations and time-outs."""
    return time.monotonic()


def sleep(seconds: float) -> None:
    """Block this thread."""
    time.sleep(seconds)

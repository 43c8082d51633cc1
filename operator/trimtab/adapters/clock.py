"""The operator's only clock."""

from __future__ import annotations

import time


class WallClock:
    """Wall time of this machine."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()


def monotonic() -> float:
    """Seconds since some moment, which never jump."""
    return time.monotonic()

"""The one clock of the operator."""

from __future__ import annotations

import time


class WallClock:
    """Wall time of this machine."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

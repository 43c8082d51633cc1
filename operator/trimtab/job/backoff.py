"""Waits between two tries of what can heal."""

from __future__ import annotations

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 10.0
GIVE_UP_S = 300.0
"""How long a cause that can heal is waited for, since the last commit or the start."""


class Backoff:
    """Ever longer waits, 1 s to 10 s, until 300 s have gone by without success."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._wait = FIRST_WAIT_S

    def next(self, now: float) -> float | None:
        """Seconds to wait before the next try; None to give up. `now` in seconds."""
        self._since = now if self._since is None else self._since
        if now - self._since >= GIVE_UP_S:
            return None
        wait, self._wait = self._wait, min(self._wait * 2, LONGEST_WAIT_S)
        return wait

    def reset(self) -> None:
        """It worked."""
        self._since = None
        self._wait = FIRST_WAIT_S

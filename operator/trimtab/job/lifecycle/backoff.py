"""Waits between two tries of what can heal."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 10.0
GIVE_UP_S = 300.0
"""How long a cause that can heal is waited for, since its first failure without a success."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Ever longer waits, 1 s to 10 s, until 300 s have gone by without success.

    After a success begin with a new one.
    """

    since: float | None = None
    wait_s: float = FIRST_WAIT_S

    def next(self, now: float) -> tuple[float | None, Backoff]:
        """Seconds to wait before the next try, None to give up; and what to ask after that one.

        `now` in seconds of any clock that only grows.
        """
        since = now if self.since is None else self.since
        if now - since >= GIVE_UP_S:
            return None, self
        return self.wait_s, Backoff(since, min(self.wait_s * 2, LONGEST_WAIT_S))

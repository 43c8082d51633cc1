"""Delays between retries of what can recover."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 10.0
GIVE_UP_S = 300.0
"""How long to retry after the first failure without any success."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Growing delays, 1 s to 10 s, until 300 s have passed without success.

    Start with a new one after a success.
    """

    since: float | None = None
    wait_s: float = FIRST_WAIT_S

    def next(self, now: float) -> tuple[float | None, Backoff]:
        """Seconds until the next try, None to give up; and the back-off for the try after that.

        `now` in seconds of a monotonic clock.
        """
        since = now if self.since is None else self.since
        if now - since >= GIVE_UP_S:
            return None, self
        return self.wait_s, Backoff(since, min(self.wait_s * 2, LONGEST_WAIT_S))

"""How the process is asked to stop."""

from __future__ import annotations

from trimtab.job.clock import Clock, monotonic_s


class StopSignal:
    """Set once, by SIGTERM; a plain attribute, because a signal handler must not take a lock."""

    def __init__(self, clock: Clock = monotonic_s) -> None:
        """`clock` must be the runner's own."""
        self._clock = clock
        self.at: float | None = None

    def request(self) -> None:
        """Stop at the next boundary; the drain timeout counts from the first call."""
        if self.at is None:
            self.at = self._clock()

"""Whether the running batch makes progress, however long it takes: for the liveness probe.

A task that ends, or a record that a running task has read or written, is progress. A batch whose
tasks wait for executors does not hang: another driver would wait as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.job.clock import Clock, monotonic_s

HANG_S = 900.0
"""Seconds without progress after which a batch hangs, unless the spec says otherwise."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What changes when the query gets on."""

    batch_id: int | None
    """The batch that is running; None between batches."""
    mark: int
    """A number that differs after each task and each record."""
    starved: bool
    """Whether tasks wait and there is no slot to run them."""


class StallWatch:
    """Measures the time since the last progress; thread-safe, as it sets one value at a time.

    It also grows when no progress is reported any more, because Spark does not answer.
    """

    def __init__(self, limit_s: float = HANG_S, clock: Clock = monotonic_s) -> None:
        self._limit_s, self._clock = limit_s, clock
        self._last: Progress | None = None
        self._since_s: float | None = None

    def observe(self, now: Progress) -> None:
        """Take the newest look."""
        if now.batch_id is None or now.starved or now != self._last:
            self._since_s = self._clock()
        self._last = now

    @property
    def stalled_s(self) -> float:
        """Seconds without progress; 0 before the first look."""
        return 0.0 if self._since_s is None else self._clock() - self._since_s

    def probe(self) -> tuple[bool, str]:
        """Whether the driver is alive, and a message."""
        stalled_s = self.stalled_s
        if stalled_s <= self._limit_s:
            return True, "alive"
        batch = self._last.batch_id if self._last else None
        what = "Spark does not answer" if batch is None else f"batch {batch} makes no progress"
        return False, f"{what}: nothing for {stalled_s:.0f} s, at most {self._limit_s:.0f} s"

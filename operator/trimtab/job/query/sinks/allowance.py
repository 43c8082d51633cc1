"""How many dead letters are no alarm: so many in a batch, and in a minute."""

from __future__ import annotations

from collections import deque

from trimtab.api.quantities import counted
from trimtab.job.clock import Clock, monotonic_s

WINDOW_S = 60.0


class Allowance:
    """Counts what was written, and says what would be too much."""

    def __init__(
        self, per_batch: int, per_minute: int | None, *, clock: Clock = monotonic_s
    ) -> None:
        """Without `per_minute`, a batch's own number counts alone. `clock` is monotonic."""
        self._per_batch, self._per_minute = per_batch, per_minute
        self._clock = clock
        self._written: deque[tuple[float, int]] = deque()

    def excess(self, count: int) -> str:
        """Which limit a batch with so many breaks, in words; empty if none."""
        if count > self._per_batch:
            return _words(count, "batch", "maxPerBatch", self._per_batch)
        if self._per_minute is None or not count:
            return ""
        total = count + self._recent()
        if total > self._per_minute:
            return _words(total, "minute", "maxPerMinute", self._per_minute)
        return ""

    def written(self, count: int) -> None:
        """A batch with so many is written."""
        if count:
            self._written.append((self._clock(), count))

    def _recent(self) -> int:
        """Those of the last minute."""
        while self._written and self._written[0][0] <= self._clock() - WINDOW_S:
            self._written.popleft()
        return sum(count for _, count in self._written)


def _words(count: int, span: str, field: str, most: int) -> str:
    return f"{counted(count, 'record')} of a {span}, more than deadLetters.{field}: {most}"

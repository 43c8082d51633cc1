"""Timed batches: some are computed first and written afterwards, so that both parts show.

A task reads, computes and writes one record after the other, and Spark does not time its Kafka
writer. So about one batch in thirty is computed, cached on the executors, and written from there:
the same rows, once. The copy makes it longer than others. So the controller learns from a timed
batch only how its time divides.

In other batches the producer sends while the task computes, so the measured share of writing is
an upper bound for them.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

FIRST = 3
"""Batches after a change before one is timed: the controller judges the change by these."""

EVERY = 30
"""Batches from one timed batch to the next."""

SOONER, GREW = 5, 1.5
"""Batches until the next if they now take that many times as long: their split has changed."""

BUSY = 0.3
"""Share of the trigger interval below which batches are too short to be worth timing."""

MOST_BYTES = 256 << 20
"""Size of a batch above which it is not timed, because the copy would be too large."""


@dataclass(frozen=True, slots=True)
class Split:
    """Seconds of a timed batch: reading and computing records, and writing them."""

    compute_s: float
    sink_s: float

    @property
    def sink_share(self) -> float:
        """Share of the time that was spent writing; 0 if there was none."""
        whole_s = self.compute_s + self.sink_s
        return self.sink_s / whole_s if whole_s > 0 else 0.0


class Timing:
    """Chooses the batches to time, by what the listener and the runner report."""

    def __init__(self) -> None:
        """No batch is timed before `fit`."""
        self._lock = threading.Lock()
        self._possible, self._trigger_s = False, 0.0
        self._since = 0
        self._last_s = 0.0
        self._known_s: float | None = None
        self._warm = False

    def fit(self, *, possible: bool, trigger_s: float) -> None:
        """A query has started; `possible` tells whether its batches can be timed at all."""
        with self._lock:
            self._possible, self._trigger_s = possible, trigger_s

    def changed(self) -> None:
        """New settings are in force: batches may divide differently from now on."""
        with self._lock:
            self._since, self._known_s = 0, None

    def due(self, size: float | None) -> bool:
        """Whether to time the batch that begins; `size` in bytes, None if unknown."""
        with self._lock:
            too_large = size is None or size > MOST_BYTES
            if not self._possible or too_large or self._last_s < BUSY * self._trigger_s:
                return False
            if self._known_s is None:
                return self._since >= FIRST
            grew = self._last_s >= GREW * self._known_s
            return self._since >= (SOONER if grew else EVERY)

    def finished(self, duration_s: float, *, timed: bool) -> None:
        """A batch was committed."""
        with self._lock:
            if timed:
                # the first one also warms up the cache: time another one soon
                self._since, self._known_s = 0, self._last_s if self._warm else None
                self._warm = True
            else:
                self._since, self._last_s = self._since + 1, duration_s

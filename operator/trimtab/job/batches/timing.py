"""Timed batches: now and then one is worked out first and written after, so that both parts show.

A task reads, works and writes one record after the other, and Spark keeps no time of its Kafka
writer. So about one batch of thirty is kept on the executors once it is worked out and written
from there: the same rows, once. What that costs, a copy, makes it longer than others, therefore a
timed batch teaches the controller nothing but how its time divides.

In other batches the writer sends while the task works, so there its part is at most the measured.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

FIRST = 3
"""Batches after a change before one is timed: on those the controller judges the change."""

EVERY = 30
"""Batches from one that is timed to the next."""

SOONER, GREW = 5, 1.5
"""The same where batches have come to take so many times as long: they divide otherwise now."""

BUSY = 0.3
"""Share of the trigger below which a batch is too short for the question to matter."""

MOST_BYTES = 256 << 20
"""Of a batch, as read: a larger one is not copied."""


@dataclass(frozen=True, slots=True)
class Split:
    """Seconds of a timed batch: reading and working on records, and writing them."""

    compute_s: float
    sink_s: float

    @property
    def sink_share(self) -> float:
        """Share of the time in which records were written; 0 of nothing."""
        whole_s = self.compute_s + self.sink_s
        return self.sink_s / whole_s if whole_s > 0 else 0.0


class Timing:
    """Says which batches are timed; asked by the writer, told by the listener and the runner."""

    def __init__(self) -> None:
        """No batch is timed before `fit`."""
        self._lock = threading.Lock()
        self._possible, self._trigger_s = False, 0.0
        self._since = 0
        self._last_s = 0.0
        self._known_s: float | None = None
        self._warm = False

    def fit(self, *, possible: bool, trigger_s: float) -> None:
        """A query has started; `possible` says whether its batches can be timed at all."""
        with self._lock:
            self._possible, self._trigger_s = possible, trigger_s

    def changed(self) -> None:
        """Other settings are in force: batches may divide otherwise from now on."""
        with self._lock:
            self._since, self._known_s = 0, None

    def due(self, size: float | None) -> bool:
        """Whether to time the batch that begins, of so many bytes; None is not known."""
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
                # the first one also pays for the warm-up of what keeps rows: once more, soon
                self._since, self._known_s = 0, self._last_s if self._warm else None
                self._warm = True
            else:
                self._since, self._last_s = self._since + 1, duration_s

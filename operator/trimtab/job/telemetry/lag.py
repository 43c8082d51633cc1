"""Lag and input of each partition, polled every second with the driver's own admin client.

Lag in records is the end offset of the partition minus the committed offset. Lag in seconds is how
long ago the partition ended where the query is now, interpolated between polls. It is unknown, and
omitted, while the history does not reach back that far.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol

from trimtab.errors import UnavailableError
from trimtab.job.clock import Clock, wall_s
from trimtab.job.query.checkpoint import Offsets
from trimtab.job.telemetry.driver_state import DriverState, PartitionLag

log = logging.getLogger(__name__)

INTERVAL_S = 1.0
"""Well below a scrape interval: the input rate is computed between two scrapes, and a poll on the
wrong side of one must not look as if the input had stopped or doubled."""

REPLICAS_S = 15.0
"""Seconds between two looks at the replicas: they matter to changes, which come more rarely."""

HISTORY = 2000
"""Samples kept; when full, every other one is dropped, so that the history reaches further back."""


class EndOffsets(Protocol):
    """What the poller needs of Kafka."""

    def end_offsets(self, topics: Sequence[str]) -> Offsets:
        """Where each partition ends; raises UnavailableError."""

    def out_of_sync(self, topics: Sequence[str]) -> int:
        """Partitions whose replicas are not all in sync; raises UnavailableError."""


class EndHistory:
    """The end offsets of one partition over time, as samples (seconds, offset)."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, at: float, end: int) -> None:
        """Add a sample; `at` must increase from call to call."""
        if self._samples and self._samples[-1][1] > end:
            self._samples.clear()  # the topic was recreated
        self._samples.append((at, end))
        if len(self._samples) > HISTORY:
            self._samples = deque(list(self._samples)[::2])

    def age_of(self, position: int, now: float) -> float | None:
        """Seconds since the record at `position` was written; 0 if it is not written yet."""
        if not self._samples:
            return None
        if position >= self._samples[-1][1]:
            return 0.0
        for (t0, e0), (t1, e1) in pairwise(self._samples):
            if e0 <= position < e1:
                return max(0.0, now - (t0 + (t1 - t0) * (position - e0) / (e1 - e0)))
        return None

    def forget_before(self, position: int) -> None:
        """Drop the samples that the query has passed."""
        while len(self._samples) > 1 and self._samples[1][1] <= position:
            self._samples.popleft()


class LagPoller:
    """Polls Kafka in its own thread and hands the lag to the exporter."""

    def __init__(
        self,
        driver: DriverState,
        kafka: EndOffsets,
        topics: Sequence[str],
        committed: Callable[[], Offsets | None],
        clock: Clock = wall_s,
    ) -> None:
        """`committed` returns the query's position, None while it is unknown.

        `clock` gives seconds since 1970.
        """
        self._driver = driver
        self._kafka = kafka
        self._topics = topics
        self._committed = committed
        self._clock = clock
        self._histories: dict[tuple[str, int], EndHistory] = {}
        self._looked_s = -math.inf

    def poll(self, now: float) -> None:
        """Poll once; without an answer the lag is unknown, never an old value."""
        try:
            ends = self._kafka.end_offsets(self._topics)
        except UnavailableError as error:
            log.warning("lag is unknown: %s", error)
            self._driver.lag = self._driver.out_of_sync = None
            return
        self._look_at_replicas(now)
        # read after the ends: a commit in between makes the lag smaller, never negative
        committed = self._committed()
        self._driver.lag = {
            key: self._partition(key, end, committed, now) for key, end in sorted(ends.items())
        }

    def _look_at_replicas(self, now: float) -> None:
        if now - self._looked_s < REPLICAS_S:
            return
        self._looked_s = now
        try:
            self._driver.out_of_sync = self._kafka.out_of_sync(self._topics)
        except UnavailableError:
            self._driver.out_of_sync = None

    def _partition(
        self, key: tuple[str, int], end: int, committed: Offsets | None, now: float
    ) -> PartitionLag:
        history = self._histories.setdefault(key, EndHistory())
        history.add(now, end)
        if committed is None:
            return PartitionLag(end, None, None)
        position = committed.get(key, 0)  # a new partition is read from its beginning
        history.forget_before(position)
        return PartitionLag(end, max(0, end - position), history.age_of(position, now))

    def start(self, stopping: threading.Event) -> threading.Thread:
        """Poll every second until `stopping` is set."""

        def run() -> None:
            while not stopping.is_set():
                self.poll(self._clock())
                stopping.wait(INTERVAL_S)

        thread = threading.Thread(target=run, name="trimtab-lag", daemon=True)
        thread.start()
        return thread

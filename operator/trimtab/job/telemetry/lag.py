"""Lag and input of each partition, polled every second with the driver's own admin client.

Lag in records is the end offset of the partition minus the committed offset. Lag in seconds is how
long ago the partition ended where the query is now, interpolated between polls. Where the history
does not reach back that far, such as after a restart, the waiting record itself tells its age.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Protocol

from trimtab.errors import UnavailableError
from trimtab.job.batches.progress import QUANTILES
from trimtab.job.clock import Clock, wall_s
from trimtab.job.query.offset_log import Offsets
from trimtab.job.telemetry import retention
from trimtab.job.telemetry.driver_state import DriverState, PartitionLag
from trimtab.job.telemetry.retention import RetentionWatch
from trimtab.job.telemetry.start_backlog import StartBacklog
from trimtab.kafka.admin import Topics

log = logging.getLogger(__name__)

INTERVAL_S = 1.0
"""Well below a scrape interval: the input rate is computed between two scrapes, and a poll on the
wrong side of one must not look as if the input had stopped or doubled."""

LOOK_S = 15.0
"""Seconds between two looks at the topics themselves: partitions are added rarely, and replicas
matter to changes, which come more rarely still."""

BEYOND_POLLS = 5
"""Polls in a row after which a position beyond the end is no commit between two requests."""

HISTORY = 2000
"""Samples kept; when full, every other one is dropped, so that the history reaches further back."""


class Kafka(retention.Kafka, Protocol):
    """What the poller needs of Kafka; everything raises UnavailableError."""

    def look(self, topics: Sequence[str]) -> Topics:
        """How many partitions the topics have, and how many of them are not in sync."""

    def end_offsets(self, partitions: Mapping[str, int], *, committed: bool) -> Offsets:
        """Where each partition ends, for a reader of committed records or of all."""

    def timestamps(self, positions: Offsets) -> Mapping[tuple[str, int], float]:
        """When the records at these offsets were written, in seconds since 1970, where known."""


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

    def begin(self, at: float, position: int) -> None:
        """What was written before the first sample: the record at `position` at that time."""
        if self._samples and self._samples[0][1] > position and self._samples[0][0] > at:
            self._samples.appendleft((at, position))

    def age_of(self, position: int, now: float) -> float | None:
        """Seconds since the record at `position` was written; 0 if it is not written yet."""
        if not self._samples:
            return None
        if position >= self._samples[-1][1]:
            return 0.0
        written_s = self.written_at(position)
        return None if written_s is None else max(0.0, now - written_s)

    def written_at(self, position: int) -> float | None:
        """When the record at `position` was written; None if the samples do not cover it."""
        # a copy: another thread adds samples
        for (t0, e0), (t1, e1) in pairwise(list(self._samples)):
            if e0 <= position < e1:
                return t0 + (t1 - t0) * (position - e0) / (e1 - e0)
        return None

    def forget_before(self, position: int) -> None:
        """Drop the samples that the query has passed."""
        while len(self._samples) > 1 and self._samples[1][1] <= position:
            self._samples.popleft()


_PARTS = tuple((i + 0.5) / 20 for i in range(20))
"""Places in a range of offsets that stand for its records."""


def weighted_quantiles(values: Sequence[tuple[float, float]]) -> dict[float, float]:
    """The quantiles of values with weights."""
    ordered, total = sorted(values), sum(weight for _, weight in values)
    found, seen = {}, 0.0
    wanted = deque(QUANTILES)
    for value, weight in ordered:
        seen += weight
        while wanted and seen >= wanted[0] * total - 1e-9:
            found[wanted.popleft()] = value
    return found


class LagPoller:
    """Polls Kafka in its own thread and hands the lag to the exporter."""

    def __init__(
        self,
        driver: DriverState,
        kafka: Kafka,
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
        self._looked_s = self._read_s = -math.inf
        self._partitions: Mapping[str, int] = {}
        self._beyond: dict[tuple[str, int], int] = {}
        self._start = StartBacklog()
        self._retention, self._compared_s = RetentionWatch(kafka), -math.inf

    def poll(self, now: float) -> None:
        """Poll once; without an answer the lag is unknown, never an old value."""
        try:
            self._look(now)
            ends = self._kafka.end_offsets(self._partitions, committed=self._driver.reads_committed)
        except UnavailableError as error:
            log.warning("lag is unknown: %s", error)
            self._looked_s = -math.inf
            self._driver.lag = self._driver.out_of_sync = self._driver.expiry = None
            self._driver.start_backlog = None
            return
        # read after the ends: a commit in between makes the lag smaller, never negative
        committed = self._committed()
        lag = {
            key: self._partition_lag(key, end, committed, now) for key, end in sorted(ends.items())
        }
        lag = self._with_ages(lag, committed, now)
        with self._driver.writing() as driver:
            driver.lag, driver.polled_s = lag, now
            driver.start_backlog = self._start.left(ends, committed)
        self._compare(lag, now)

    def _compare(self, lag: Mapping[tuple[str, int], PartitionLag], now: float) -> None:
        """Compare the lag with what the topics keep."""
        if now - self._compared_s < LOOK_S:
            return
        self._compared_s = now
        try:
            self._driver.expiry = self._retention.look(now, self._partitions, lag)
        except UnavailableError as error:
            log.warning("it is unknown when unread records expire: %s", error)
            self._driver.expiry = None

    def _with_ages(
        self, lag: dict[tuple[str, int], PartitionLag], committed: Offsets | None, now: float
    ) -> dict[tuple[str, int], PartitionLag]:
        """The lag with the ages that the history does not tell, from the waiting records."""
        unknown = [key for key, each in lag.items() if each.records and each.seconds is None]
        if committed is None or not unknown or now - self._read_s < LOOK_S:
            return lag
        self._read_s = now
        positions = {key: committed.get(key, 0) for key in unknown}
        for key, written_s in self._kafka.timestamps(positions).items():
            if key in positions:
                history = self._histories[key]
                history.begin(written_s, positions[key])
                lag[key] = replace(lag[key], seconds=history.age_of(positions[key], now))
        return lag

    def waits(
        self, begin: Offsets, end: Offsets, committed_s: float
    ) -> Mapping[float, float] | None:
        """How long the records of a batch were in Kafka before its commit, by quantile.

        The times at which the broker got them, as far as the polls tell; whatever times producers
        wrote into them. None if the polls do not cover the batch.
        """
        ages: list[tuple[float, float]] = []
        for key, last in end.items():
            first, history = begin.get(key), self._histories.get(key)
            if first is None or history is None or last <= first:
                continue
            for share in _PARTS:
                written_s = history.written_at(first + int(share * (last - first)))
                if written_s is None:
                    return None
                ages.append((max(0.0, committed_s - written_s), (last - first) / len(_PARTS)))
        return weighted_quantiles(ages) if ages else None

    def _look(self, now: float) -> None:
        if now - self._looked_s < LOOK_S:
            return
        found = self._kafka.look(self._topics)
        if not found.partitions:
            raise UnavailableError(f"Kafka has none of the topics {', '.join(self._topics)}")
        self._partitions, self._looked_s = found.partitions, now
        self._driver.out_of_sync = found.out_of_sync

    def _partition_lag(
        self, key: tuple[str, int], end: int, committed: Offsets | None, now: float
    ) -> PartitionLag:
        history = self._histories.setdefault(key, EndHistory())
        history.add(now, end)
        if committed is None:
            return PartitionLag(end, None, None)
        position = committed.get(key, 0)  # a new partition is read from its beginning
        history.forget_before(position)
        self._beyond[key] = self._beyond.get(key, 0) + 1 if position > end else 0
        return PartitionLag(
            end,
            max(0, end - position),
            history.age_of(position, now),
            beyond=self._beyond[key] >= BEYOND_POLLS,
        )

    def start(self, stopping: threading.Event) -> threading.Thread:
        """Poll every second until `stopping` is set."""

        def run() -> None:
            while not stopping.is_set():
                self.poll(self._clock())
                stopping.wait(INTERVAL_S)

        thread = threading.Thread(target=run, name="trimtab-lag", daemon=True)
        thread.start()
        return thread

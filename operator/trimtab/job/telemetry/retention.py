"""How long until Kafka deletes records that the query has not read yet.

A topic that keeps records for some time deletes one when it is that old. A topic that keeps a size
deletes as fast as it is written to, once it has begun to: then the distance from its beginning to
the query's position, over the input, is the time that is left. Kafka deletes whole segments, so
records go at the earliest then.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from trimtab.job.query.offset_log import Offsets
from trimtab.job.telemetry.driver_state import Expiry, PartitionLag
from trimtab.kafka.admin import Retention

CONFIG_S = 300.0
"""Seconds between two looks at what the topics keep."""

WINDOW = 20
"""Samples that the input of a partition is measured over."""


class Kafka(Protocol):
    """What it needs of Kafka; everything raises UnavailableError."""

    def retention(self, topics: Sequence[str]) -> Mapping[str, Retention]:
        """What the topics keep; those that may not be asked are missing."""

    def first_offsets(self, partitions: Mapping[str, int]) -> Offsets:
        """Where each partition begins."""


@dataclass(frozen=True, slots=True)
class _Ends:
    at_s: float
    ends: Mapping[tuple[str, int], int]


class RetentionWatch:
    """Compares the lag with what the topics keep."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._kept: Mapping[str, Retention] = {}
        self._asked_s = -math.inf
        self._samples: deque[_Ends] = deque(maxlen=WINDOW)

    def look(
        self, now_s: float, partitions: Mapping[str, int],
        lag: Mapping[tuple[str, int], PartitionLag],
    ) -> Expiry | None:  # fmt: skip
        """The first unread record that will go; None: nothing waits, or nothing is known of it."""
        self._samples.append(_Ends(now_s, {key: each.end for key, each in lag.items()}))
        if now_s - self._asked_s >= CONFIG_S:
            self._kept, self._asked_s = self._kafka.retention(list(partitions)), now_s
        by_size = any(kept.size is not None for kept in self._kept.values())
        firsts = self._kafka.first_offsets(partitions) if by_size else {}
        found = [
            expiry
            for (topic, number), each in lag.items()
            if each.records and topic in self._kept
            for expiry in self._of(each, self._kept[topic], (topic, number), firsts)
        ]
        return min(found, key=lambda each: each.seconds, default=None)

    def _of(
        self, lag: PartitionLag, kept: Retention, key: tuple[str, int], firsts: Offsets
    ) -> list[Expiry]:
        found = []
        if kept.seconds is not None and lag.seconds is not None:
            found.append(Expiry(max(0.0, kept.seconds - lag.seconds), kept.seconds))
        rate, first = self._rate(key), firsts.get(key, 0)
        if kept.size is not None and first > 0 and rate > 0:
            position = lag.end - (lag.records or 0)
            found.append(Expiry(max(0, position - first) / rate, (lag.end - first) / rate))
        return found

    def _rate(self, key: tuple[str, int]) -> float:
        """Records/s that were written to a partition; 0 while it is unknown."""
        known = [sample for sample in self._samples if key in sample.ends]
        if len(known) < 2:
            return 0.0
        first, last = known[0], known[-1]
        return (last.ends[key] - first.ends[key]) / max(last.at_s - first.at_s, 1e-9)

"""What is due in virtual time, in its order."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from enum import IntEnum


class Kind(IntEnum):
    """Event kinds, in the order in which those of one time run."""

    FAULT = 0
    EXECUTORS = 1
    BATCH_END = 2
    BATCH_START = 3
    SCRAPE = 4
    TICK = 5


@dataclass(frozen=True, slots=True)
class Event:
    """Something due; the payload tells a batch end that was moved from the one that counts."""

    at_s: float
    kind: Kind
    payload: object = None


class Agenda:
    """The events to come, by time, then kind, then the order in which they were noted."""

    def __init__(self) -> None:
        self._order = itertools.count()
        self._events: list[tuple[float, int, int, Event]] = []

    def note(self, at_s: float, kind: Kind, payload: object = None) -> None:
        """Something will be due."""
        event = Event(at_s, kind, payload)
        heapq.heappush(self._events, (at_s, kind, next(self._order), event))

    def note_every(self, step_s: float, until_s: float, kind: Kind) -> None:
        """The same kind on each edge of a grid, the end included."""
        for i in range(1, int(until_s / step_s) + 1):
            self.note(round(i * step_s, 6), kind)

    def next(self) -> Event | None:
        """The event that is due first, taken away; None when there is no more."""
        return heapq.heappop(self._events)[3] if self._events else None

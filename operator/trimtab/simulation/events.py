"""The event queue in virtual time."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from enum import IntEnum


class Kind(IntEnum):
    """Event kinds, in the order in which events of the same time run."""

    FAULT = 0
    EXECUTORS = 1
    BATCH_END = 2
    BATCH_START = 3
    SCRAPE = 4
    TICK = 5
    POLL = 6


@dataclass(frozen=True, slots=True)
class Event:
    """Something due; the payload distinguishes a valid batch end from one that has moved."""

    at_s: float
    kind: Kind
    payload: object = None


class Agenda:
    """The upcoming events, by time, then kind, then the order in which they were added."""

    def __init__(self) -> None:
        self._order = itertools.count()
        self._events: list[tuple[float, int, int, Event]] = []

    def note(self, at_s: float, kind: Kind, payload: object = None) -> None:
        """Add an event."""
        event = Event(at_s, kind, payload)
        heapq.heappush(self._events, (at_s, kind, next(self._order), event))

    def note_every(self, step_s: float, until_s: float, kind: Kind) -> None:
        """Add events of one kind at every grid point, including the end."""
        for i in range(1, int(until_s / step_s) + 1):
            self.note(round(i * step_s, 6), kind)

    def next(self) -> Event | None:
        """Remove and return the next event; None if there are no more."""
        return heapq.heappop(self._events)[3] if self._events else None

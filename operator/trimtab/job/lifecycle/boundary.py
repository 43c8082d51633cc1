"""THE boundary stop: a query ends between two batches, and nothing is written twice.

Every write goes through a gate. To stop, the gate is closed first: from then on no batch can
begin to write. The one batch that is already past the gate is waited for until Spark has
committed it. Then the query is stopped; whatever Spark was planning at that moment has written
nothing, and its range runs again after the next start. This holds at any load, also when the
next batch is planned in the same millisecond in which the last one ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol

from trimtab.errors import TrimtabError

POLL_S = 0.01
"""How often a stopping query is looked at."""
STOP_TIMEOUT_S = 5.0


class GateClosedError(TrimtabError):
    """Raised inside the query in place of a write: a planned stop, not a failure."""


class Gate:
    """Lets batches write until it is closed; one gate per query start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._entered: int | None = None
        self._refused = False

    def enter(self, batch_id: int) -> None:
        """Called by the writer before a batch writes; raises GateClosedError when closed."""
        with self._lock:
            if self._closed:
                self._refused = True
                raise GateClosedError(f"batch {batch_id} is not written: the query is stopping")
            self._entered = batch_id

    def close(self) -> int | None:
        """Let no more batch begin; returns the last that did."""
        with self._lock:
            self._closed = True
            return self._entered

    @property
    def refused(self) -> bool:
        """A batch was turned away, so the one before it was committed."""
        with self._lock:
            return self._refused

    def at_boundary(self, last_committed: Callable[[], int | None]) -> bool:
        """Whether the closed gate has no batch behind it that is not committed.

        `last_committed` tells the last batch of this start whose commit Spark reported, if any.
        """
        with self._lock:
            entered, refused = self._entered, self._refused
        if entered is None or refused:
            return True
        committed = last_committed()
        return committed is not None and committed >= entered


class Query(Protocol):
    """The two things of a StreamingQuery that a stop needs."""

    @property
    def isActive(self) -> bool:  # noqa: N802 -- Spark's name
        """Whether it still runs."""

    def stop(self) -> object:
        """End it now; blocks until its thread is gone."""


class Outcome(Enum):
    """How a stop went."""

    CLEAN = auto()
    UNCLEAN = auto()
    """Cut short in the middle of a batch."""
    FAILED = auto()
    """The query died meanwhile by itself, with the batch past the gate uncommitted."""


def judge_stop(*, active: bool, at_boundary: bool, give_up: bool) -> Outcome | None:
    """How the stop of a query with a closed gate went; None while it is to be waited for.

    Args:
        active: whether the query ran, read before `at_boundary`: once it has ended, nothing more
            is committed.
        at_boundary: what `Gate.at_boundary` said.
        give_up: whether the batch past the gate has had its time.
    """
    if at_boundary:
        return Outcome.CLEAN
    if not active:
        return Outcome.FAILED
    return Outcome.UNCLEAN if give_up else None


def stop_now(query: Query) -> None:
    """Stop at once; gives up waiting for a thread that does not end within 5 s."""
    stopper = threading.Thread(target=query.stop, name="trimtab-stop", daemon=True)
    stopper.start()
    stopper.join(STOP_TIMEOUT_S)

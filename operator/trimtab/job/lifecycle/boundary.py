"""The boundary stop: a query ends between two batches, and nothing is written twice.

Every write passes a gate. A stop closes the gate first: from then on no batch can begin to write.
Then it waits until Spark has committed the batch that has already passed. Only then is the query
stopped. Whatever Spark was planning at that moment has written nothing, and its range runs again
after the next start. This holds under any load, even if the next batch is planned in the same
millisecond in which the last one ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol

from trimtab.errors import TrimtabError

POLL_S = 0.01
"""How often a stopping query is checked."""
STOP_TIMEOUT_S = 5.0
"""How long a driver that ends waits for Spark to stop the query."""
RESTART_TIMEOUT_S = 60.0
"""The same before a restart: a query of this name that still runs forbids another one."""


class GateClosedError(TrimtabError):
    """Raised inside the query instead of a write: a planned stop, not a failure."""


class Gate:
    """Lets batches write until it is closed; each start of the query has its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._entered: int | None = None
        self._refused = False

    def enter(self, batch_id: int) -> None:
        """Called before a batch is written; raises GateClosedError if the gate is closed."""
        with self._lock:
            if self._closed:
                self._refused = True
                raise GateClosedError(f"batch {batch_id} is not written: the query is stopping")
            self._entered = batch_id

    def close(self) -> int | None:
        """Let no further batch begin; returns the last one that did."""
        with self._lock:
            self._closed = True
            return self._entered

    @property
    def refused(self) -> bool:
        """Whether a batch was turned away, which proves that the one before it was committed."""
        with self._lock:
            return self._refused

    def running(self, query: Query) -> bool:
        """Whether the query runs."""
        return query.isActive

    def at_boundary(self, last_committed: Callable[[], int | None]) -> bool:
        """Whether every batch that passed the closed gate is committed.

        `last_committed` returns the last batch of this start that Spark reported as committed.
        """
        with self._lock:
            entered, refused = self._entered, self._refused
        if entered is None or refused:
            return True
        committed = last_committed()
        return committed is not None and committed >= entered


class RealTimeGate(Gate):
    """The gate of a query in real-time mode, where only Spark itself can end between two batches.

    `ask` lets the query end after the batch under way; `runs` and `ended_well` tell of its thread.
    """

    def __init__(
        self,
        ask: Callable[[], None],
        runs: Callable[[], bool],
        ended_well: Callable[[], bool],
    ) -> None:
        super().__init__()
        self._ask, self._runs, self._ended_well = ask, runs, ended_well

    def close(self) -> int | None:
        """Ask the query to end."""
        self._ask()
        return super().close()

    def running(self, query: Query) -> bool:
        """Whether its thread is alive: Spark calls it stopped before that has ended."""
        del query
        return self._runs()

    def at_boundary(self, last_committed: Callable[[], int | None]) -> bool:
        """Whether it has ended, after a commit."""
        del last_committed
        return self._ended_well()


class Query(Protocol):
    """The part of a StreamingQuery that a stop needs."""

    @property
    def isActive(self) -> bool:  # noqa: N802 -- Spark's name
        """Whether it still runs."""

    def stop(self) -> object:
        """Stop it now; blocks until its thread has ended."""


class Outcome(Enum):
    """How a stop went."""

    CLEAN = auto()
    UNCLEAN = auto()
    """Cut short in the middle of a batch."""
    FAILED = auto()
    """The query failed before the batch past the gate was committed."""


def judge_stop(*, active: bool, at_boundary: bool, give_up: bool) -> Outcome | None:
    """How the stop of a query behind a closed gate went; None while it still has to wait.

    Args:
        active: whether the query was running, read before `at_boundary`: after its end nothing
            more is committed.
        at_boundary: the answer of `Gate.at_boundary`.
        give_up: whether the time for the batch past the gate is up.
    """
    if at_boundary:
        return Outcome.CLEAN
    if not active:
        return Outcome.FAILED
    return Outcome.UNCLEAN if give_up else None


def stop_now(query: Query, timeout_s: float = STOP_TIMEOUT_S) -> bool:
    """Stop at once; returns whether its thread has ended within the time."""
    stopper = threading.Thread(target=query.stop, name="trimtab-stop", daemon=True)
    stopper.start()
    stopper.join(timeout_s)
    return not stopper.is_alive()

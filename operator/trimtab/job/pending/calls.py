"""The calls of one task of a `pending_map` stage: so many at a time, answers in order.

No Spark in here: it runs in the executors' Python workers, one object for each task. Threads make
the calls; they are daemons, because a call that hangs must not keep a worker from ending.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from trimtab.errors import TrimtabError
from trimtab.job.clock import Clock, monotonic_s, wall_s

AHEAD = 4
"""Records taken in per call allowed: calls go on behind a slow one, whose answer comes first."""


class PendingCallError(TrimtabError):
    """A call failed, or none can begin any more; ends the task."""


@dataclass(frozen=True, slots=True)
class TaskCalls:
    """What one task has called; times in seconds since 1970."""

    began: float
    ended: float
    most: int
    """Most calls under way at once."""
    count: int
    seconds: float
    """All calls together; one that was given up counts its time-out."""
    errors: int


@dataclass(slots=True)
class _Call:
    record: Any
    began: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    began_at: float = 0.0
    answer: Any = None
    error: BaseException | None = None
    given_up: bool = False


class Calls:
    """Makes calls in threads, at most `limit` at a time; gives answers in the records' order."""

    def __init__(
        self,
        call: Callable[[Any], Any],
        *,
        stage: str,
        limit: int,
        timeout_s: float,
        null_on_error: bool,
        wall: Clock = wall_s,
        monotonic: Clock = monotonic_s,
    ) -> None:
        """No thread starts before the first record.

        Args:
            call: gets one record; runs in a thread of its own beside others.
            stage: the name for messages.
            limit: most calls under way at once; one that is past its time-out still counts, since
                the service may still be at work on it.
            timeout_s: seconds from the begin of a call after which its answer is given up.
            null_on_error: an answer that failed or was given up is None, instead of the end.
            wall: seconds since 1970, which tasks on other machines tell alike.
            monotonic: seconds that only grow.
        """
        self._call, self._stage = call, stage
        self._limit, self._timeout_s = limit, timeout_s
        self._null_on_error = null_on_error
        self._wall, self._monotonic = wall, monotonic
        self._waiting: deque[_Call] = deque()
        self._todo: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = self._under_way = self._most = 0
        self._count = self._errors = 0
        self._seconds = 0.0
        self._closed = False
        self._began = wall()

    def put(self, record: Any) -> Iterator[tuple[Any, Any]]:
        """Take one more record; yields (record, answer) of earlier ones while too many wait.

        Raises:
            PendingCallError: a call failed and failures end the task, or all calls hang.
        """
        call = _Call(record)
        self._waiting.append(call)
        if self._threads < self._limit:
            self._threads += 1
            threading.Thread(target=self._work, name=f"call-{self._stage}", daemon=True).start()
        self._todo.put(call)
        while len(self._waiting) > AHEAD * self._limit or self._waiting[0].done.is_set():
            yield self._oldest()
            if not self._waiting:
                return

    def finish(self) -> Iterator[tuple[Any, Any]]:
        """Yield the answers that are still out; raises as `put` does."""
        while self._waiting:
            yield self._oldest()

    def close(self) -> TaskCalls:
        """End the threads, begin no more calls; what was called, for the sum over all tasks."""
        with self._lock:
            self._closed = True
            for _ in range(self._threads):
                self._todo.put(None)
            return TaskCalls(
                self._began, self._wall(), self._most, self._count, self._seconds, self._errors
            )

    def _work(self) -> None:
        while (call := self._todo.get()) is not None and not self._closed:
            with self._lock:
                self._under_way += 1
                self._most = max(self._most, self._under_way)
            call.began_at = self._monotonic()
            call.began.set()
            try:
                call.answer = self._call(call.record)
            except BaseException as error:  # whatever a user's call raises is told, never lost
                call.error = error
            with self._lock:
                self._under_way -= 1
                if not call.given_up:
                    self._count += 1
                    self._seconds += self._monotonic() - call.began_at
                    call.done.set()

    def _answered(self, call: _Call) -> bool:
        """Wait for an answer; one that is not there in time is given up."""
        left_s = call.began_at + self._timeout_s - self._monotonic()
        call.done.wait(max(0.0, left_s))
        with self._lock:
            if not call.done.is_set():
                call.given_up = True
                self._count += 1
                self._seconds += self._timeout_s
        return not call.given_up

    def _oldest(self) -> tuple[Any, Any]:
        call = self._waiting[0]
        # those before it are all done or given up: it has begun, unless hanging calls hold all
        # places, and then the first of them has to end within one more time-out
        if not call.began.wait(self._timeout_s):
            raise PendingCallError(
                f"stage {self._stage!r}: no call can begin: all {self._limit} under way have been"
                f" out for longer than the time-out of {self._timeout_s:g} s"
            )
        done = self._answered(call)
        self._waiting.popleft()
        if done and call.error is None:
            return call.record, call.answer
        self._errors += 1
        if self._null_on_error:
            return call.record, None
        what = f"gave no answer within {self._timeout_s:g} s"
        if done:
            what = f"failed: {type(call.error).__name__}: {call.error}"
        raise PendingCallError(
            f"stage {self._stage!r}: the call for {name_of(call.record)} {what}"
        ) from call.error


def name_of(record: Any) -> str:
    """A record for people: its key and where it stood in Kafka, as far as its columns tell."""
    columns = record.asDict()
    words = "a record"
    if columns.get("key") is not None:
        key = columns["key"]
        shown = bytes(key).decode(errors="replace") if isinstance(key, bytes | bytearray) else key
        words = f"the record with key {str(shown)[:80]!r}"
    if {"topic", "partition", "offset"} <= columns.keys():
        words += f" of {columns['topic']}/{columns['partition']} at {columns['offset']}"
    return words

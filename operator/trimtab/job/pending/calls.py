"""The calls of one task of a `pending_map` stage: limited in number, answered in order.

Independent of Spark: it runs in the executors' Python workers, one object per task. Daemon threads
make the calls, because a call that hangs must not keep a worker from exiting.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from trimtab.errors import TrimtabError
from trimtab.job.clock import Clock, monotonic_s, wall_s

AHEAD = 4
"""Records accepted per call allowed: calls continue behind a slow one, whose answer comes first."""


OnError = Literal["fail", "null", "mark"]
"""What a call that failed or timed out does."""


class FailedCall(str):
    """In place of an answer: what went wrong."""

    __slots__ = ()


class PendingCallError(TrimtabError):
    """A call failed, or no further call can begin; fails the task."""


@dataclass(frozen=True, slots=True)
class TaskCalls:
    """The calls that one task has made; times in seconds since 1970."""

    began: float
    ended: float
    most: int
    """Most calls in flight at once."""
    count: int
    seconds: float
    """Total duration of all calls; a call that timed out counts its time-out."""
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
    """Makes calls in threads, at most `limit` at a time; returns answers in record order."""

    def __init__(
        self,
        call: Callable[[Any], Any],
        *,
        stage: str,
        limit: int,
        timeout_s: float,
        on_error: OnError,
        wall: Clock = wall_s,
        monotonic: Clock = monotonic_s,
    ) -> None:
        """No thread starts before the first record.

        Args:
            call: gets one record; runs in parallel with other calls, in its own thread.
            stage: the name for messages.
            limit: most calls in flight at once; a call that timed out still counts, because the
                service may still be working on it.
            timeout_s: seconds after which a call times out.
            on_error: what a call that failed or timed out yields: `fail` an error, `null` None,
                `mark` a `FailedCall`.
            wall: seconds since 1970, comparable between machines.
            monotonic: for durations.
        """
        self._call, self._stage = call, stage
        self._limit, self._timeout_s = limit, timeout_s
        self._on_error = on_error
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
        """Accept a record; yields (record, answer) of earlier ones while too many are waiting.

        Raises:
            PendingCallError: a call failed and failures fail the task, or all calls hang.
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
        """Yield the remaining answers; raises as `put` does."""
        while self._waiting:
            yield self._oldest()

    def close(self) -> TaskCalls:
        """End the threads and begin no more calls; returns the calls that were made."""
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
            except BaseException as error:  # whatever a user's call raises is reported, never lost
                call.error = error
            with self._lock:
                self._under_way -= 1
                if not call.given_up:
                    self._count += 1
                    self._seconds += self._monotonic() - call.began_at
                    call.done.set()

    def _answered(self, call: _Call) -> bool:
        """Wait for an answer; returns False if the call timed out."""
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
        # Those before it are all done or timed out, so it has begun, unless hanging calls occupy
        # every thread. Then one of them has to return within one more time-out.
        if not call.began.wait(self._timeout_s):
            raise PendingCallError(
                f"stage {self._stage!r}: no call can begin: all {self._limit} in flight have taken"
                f" longer than the time-out of {self._timeout_s:g} s"
            )
        done = self._answered(call)
        self._waiting.popleft()
        if done and call.error is None:
            return call.record, call.answer
        self._errors += 1
        if self._on_error == "null":
            return call.record, None
        what = f"gave no answer within {self._timeout_s:g} s"
        if done:
            what = f"failed: {type(call.error).__name__}: {call.error}"
        words = f"stage {self._stage!r}: the call for {name_of(call.record)} {what}"
        if self._on_error == "mark":
            return call.record, FailedCall(words)
        raise PendingCallError(words) from call.error


def name_of(record: Any) -> str:
    """A record as people know it: its key and its position in Kafka, if it has these columns."""
    columns = record.asDict()
    words = "a record"
    if columns.get("key") is not None:
        key = columns["key"]
        shown = bytes(key).decode(errors="replace") if isinstance(key, bytes | bytearray) else key
        words = f"the record with key {str(shown)[:80]!r}"
    if {"topic", "partition", "offset"} <= columns.keys():
        words += f" of {columns['topic']}/{columns['partition']} at {columns['offset']}"
    return words

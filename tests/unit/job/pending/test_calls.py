"""The calls of one task: how many at once, in which order, and what a bad one does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import Row

from trimtab.job.pending.calls import AHEAD, Calls, PendingCallError, name_of
from trimtab.job.pending.pending_map import Stages, TaskCalls, declaring, pending_map, total
from trimtab.job.pending.stage import StageSettings


def calls(call: Callable[[Any], Any], limit: int = 4, **changes: Any) -> Calls:
    said = {"stage": "prices", "timeout_s": 5.0, "on_error": "fail"}
    return Calls(call, limit=limit, **(said | changes))


def answers(made: Calls, records: Iterable[Any]) -> list[tuple[Any, Any]]:
    out = [pair for record in records for pair in made.put(record)]
    return [*out, *made.finish()]


def join(stage: str) -> None:
    """Wait for the threads of a stage that is closed."""
    for thread in threading.enumerate():
        if thread.name == f"call-{stage}":
            thread.join(30)
            assert not thread.is_alive()


class Service:
    """Counts who is inside at once; the first `together` leave only when all of them are in."""

    def __init__(self, seconds: Callable[[Any], float], together: int = 1) -> None:
        self._seconds = seconds
        self._together, self._all_in = together, threading.Barrier(together)
        self._lock = threading.Lock()
        self._inside = self.most = self.asked = 0

    def __call__(self, record: Any) -> Any:
        with self._lock:
            self._inside += 1
            self.asked += 1
            self.most = max(self.most, self._inside)
            first = self.asked <= self._together
        if first:
            self._all_in.wait(30)
        time.sleep(self._seconds(record))
        with self._lock:
            self._inside -= 1
        return record * 10


@pytest.mark.parametrize("limit", [1, 3, 8])
def test_so_many_at_once_and_never_more(limit: int) -> None:
    service = Service(lambda _: 0.002, together=limit)
    made = calls(service, limit)
    assert answers(made, range(60)) == [(n, 10 * n) for n in range(60)]
    said = made.close()
    assert service.most == said.most == limit
    assert (said.count, said.errors) == (60, 0)
    assert said.seconds >= 60 * 0.002
    assert said.ended >= said.began


def test_the_order_is_that_of_the_records_however_long_each_takes() -> None:
    service = Service(lambda n: 0.02 if n % 7 == 0 else 0.0)
    made = calls(service, 4)
    assert [record for record, _ in answers(made, range(50))] == list(range(50))


def test_calls_go_on_behind_a_slow_one_but_not_without_end() -> None:
    slow = threading.Event()
    asked: list[int] = []

    def call(n: int) -> int:
        asked.append(n)
        if n == 0:
            slow.wait(30)
        return n

    made = calls(call, 2)
    for n in range(2 * AHEAD):
        assert list(made.put(n)) == []
    deadline = time.monotonic() + 30
    while len(asked) < 2 * AHEAD and time.monotonic() < deadline:
        time.sleep(0.001)
    assert sorted(asked) == list(range(2 * AHEAD))
    slow.set()
    assert [n for n, _ in made.put(99)] + [n for n, _ in made.finish()] == [*range(2 * AHEAD), 99]


def test_a_failed_call_is_named_and_no_other_begins_after_the_end() -> None:
    def call(row: Any) -> Any:
        raise KeyError("no such customer")

    made = calls(call, 1)
    record = Row(key=b"k-7", topic="in", partition=2, offset=41)
    with pytest.raises(PendingCallError) as caught:
        answers(made, [record])
    words = str(caught.value)
    assert words == (
        "stage 'prices': the call for the record with key 'k-7' of in/2 at 41 failed:"
        " KeyError: 'no such customer'"
    )


def test_no_call_begins_after_the_close() -> None:
    inside, leave = threading.Event(), threading.Event()
    asked: list[int] = []

    def call(n: int) -> None:
        asked.append(n)
        inside.set()
        leave.wait(30)

    made = calls(call, 1, stage="closed")
    for n in range(AHEAD):
        list(made.put(n))
    assert inside.wait(30)
    made.close()
    leave.set()
    join("closed")
    assert asked == [0]


def test_errors_may_leave_null_and_are_counted() -> None:
    def call(n: int) -> int:
        if n % 3 == 0:
            raise ValueError
        return n

    made = calls(call, 2, on_error="null")
    assert answers(made, range(7)) == [(n, None if n % 3 == 0 else n) for n in range(7)]
    assert made.close().errors == 3


def test_errors_may_mark_their_rows_and_are_counted() -> None:
    def call(row: Any) -> int:
        if row.key == "b":
            raise LookupError("none")
        return 1

    made = calls(call, 2, on_error="mark")
    (_, good), (_, bad) = answers(made, [Row(key="a"), Row(key="b")])
    words = "stage 'prices': the call for the record with key 'b' failed: LookupError: none"
    assert (good, bad) == (1, words)
    assert made.close().errors == 1
    stage = StageSettings(call, "prices", 2, 1, 3, 1, 5.0, "mark", None)
    assert stage.joined(("a", None), good) == ("a", None, 1)
    assert stage.joined(("b", None), bad) == ("b", words, None)
    new = StageSettings(call, "prices", 1, 2, 3, 1, 5.0, "mark", None)
    assert new.joined(("b",), bad) == ("b", None, words)
    assert new.joined(("a",), good) == ("a", 1, None)


def test_a_call_past_its_time_is_given_up_once_and_keeps_its_place() -> None:
    hang = threading.Event()

    def call(n: int) -> int:
        if n == 1:
            hang.wait(30)
        return n

    # the clock stands still: only the call that is given up takes time, its time-out
    made = calls(call, 2, stage="late", timeout_s=1.0, on_error="null",
                 monotonic=lambda: 0.0)  # fmt: skip
    assert answers(made, range(5)) == [(0, 0), (1, None), (2, 2), (3, 3), (4, 4)]
    made.close()
    hang.set()
    join("late")  # its answer comes after all, and is not counted again
    said = made.close()
    assert (said.count, said.errors) == (5, 1)
    assert said.seconds == 1.0
    assert said.most == 2


def test_calls_that_all_hang_end_the_task_even_where_errors_give_null() -> None:
    hang = threading.Event()
    made = calls(lambda _: hang.wait(10), 2, timeout_s=0.05, on_error="null")
    with pytest.raises(PendingCallError, match=r"no call can begin: all 2 .* 0\.05 s"):
        answers(made, [Row(key=n) for n in range(4)])
    hang.set()


def test_a_record_is_named_by_what_its_columns_tell() -> None:
    assert name_of(Row(value=1)) == "a record"
    assert name_of(Row(key=None, value=1)) == "a record"
    assert name_of(Row(key=bytearray(b"a\xff"))) == "the record with key 'a\ufffd'"
    assert name_of(Row(key=17)) == "the record with key '17'"
    assert len(name_of(Row(key="x" * 500))) < 120


def test_the_calls_of_all_tasks_together() -> None:
    first = TaskCalls(began=0, ended=10, most=4, count=40, seconds=8.0, errors=1)
    beside = TaskCalls(began=5, ended=15, most=3, count=30, seconds=6.0, errors=0)
    after = TaskCalls(began=10, ended=20, most=2, count=20, seconds=4.0, errors=2)
    together = total([first, beside, after])
    assert (together.most, together.count, together.seconds, together.errors) == (7, 90, 18.0, 3)
    assert total([]).most == 0


def test_arguments_that_mean_nothing_are_refused_before_anything_runs() -> None:
    frame: Any = None
    with pytest.raises(ValueError, match="greater than 0"):
        pending_map(frame, str, "answer", timeout_s=0)
    with pytest.raises(ValueError, match="not 'ignore'"):
        pending_map(frame, str, "answer", on_error="ignore")  # type: ignore[arg-type]
    frame = SimpleNamespace(columns=["key", "value"])
    for column in ("value", "error"):
        with pytest.raises(ValueError, match=f"name a new column for the answers .*'{column}'"):
            pending_map(frame, str, column, on_error="mark")


class Context:
    """A SparkContext for accumulators."""

    def accumulator(self, value: list[TaskCalls], _param: object) -> Any:
        return type("Sum", (), {"value": value})()


def test_each_stage_of_a_query_has_its_own_name_and_its_own_sum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trimtab.job.pending.pending_map.SparkContext.getOrCreate", Context)
    stages = Stages()
    assert not stages
    prices, names = stages.add("prices"), stages.add("names")
    with pytest.raises(ValueError, match="two stages are called 'prices'"):
        stages.add("prices")
    prices.value = [TaskCalls(began=0, ended=1, most=4, count=40, seconds=8.0, errors=1)]
    taken = stages.take()
    assert (taken["prices"].count, taken["names"].count) == (40, 0)
    assert stages.take()["prices"].count == 0, "each batch begins anew"
    assert names.value == []


def test_a_stage_is_heard_of_only_while_a_transform_is_built() -> None:
    with declaring() as stages:
        assert not stages
    assert stages is not None
    with declaring() as again:
        assert again is not stages

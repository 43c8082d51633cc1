"""Which batches are timed, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkException
from tests.unit.job.batches.test_batches import Harness, report

from trimtab.api import endpoints
from trimtab.job.batches.timing import BUSY, EVERY, FIRST, MOST_BYTES, SOONER, Split, Timing
from trimtab.job.lifecycle.boundary import Gate, GateClosedError
from trimtab.job.query.sinks.kafka import KafkaSink
from trimtab.job.query.writer import BatchWriter, Live

SIZE = 1e6


def ran(timing: Timing, batches: int, duration_s: float = 1.0) -> Timing:
    for _ in range(batches):
        timing.finished(duration_s, timed=False)
    return timing


def fitting(trigger_s: float = 1.0) -> Timing:
    """One that has timed a batch before, which was cold."""
    timing = Timing()
    timing.fit(possible=True, trigger_s=trigger_s)
    timing.finished(1.0, timed=True)
    return timing


def test_the_first_is_timed_when_a_change_has_been_judged_then_one_of_thirty() -> None:
    timing = ran(fitting(), FIRST - 1)
    assert not timing.due(SIZE)
    assert ran(timing, 1).due(SIZE)
    timing.finished(3.0, timed=True)  # a copy: its own duration is no measure
    assert not ran(timing, EVERY - 1).due(SIZE)
    assert ran(timing, 1).due(SIZE)


def test_the_first_of_a_driver_is_measured_once_more_since_it_was_cold() -> None:
    timing = Timing()
    timing.fit(possible=True, trigger_s=1.0)
    assert ran(timing, FIRST).due(SIZE)
    timing.finished(3.0, timed=True)
    assert not ran(timing, FIRST - 1).due(SIZE)
    assert ran(timing, 1).due(SIZE)
    timing.finished(3.0, timed=True)
    assert not ran(timing, EVERY - 1).due(SIZE)


def test_batches_that_have_become_long_are_timed_sooner() -> None:
    timing = ran(fitting(), FIRST)
    timing.finished(1.0, timed=True)
    assert not ran(timing, SOONER - 1, 1.5).due(SIZE)
    assert ran(timing, 1, 1.5).due(SIZE)
    assert not ran(timing, 1, 1.4).due(SIZE)


def test_other_settings_are_measured_anew() -> None:
    timing = ran(fitting(), FIRST)
    timing.finished(1.0, timed=True)
    ran(timing, FIRST)
    timing.changed()
    assert not timing.due(SIZE)
    assert ran(timing, FIRST).due(SIZE)


def test_what_is_idle_too_large_or_not_known_is_not_timed() -> None:
    idle = fitting(trigger_s=10)
    assert not ran(idle, FIRST, 10 * BUSY - 0.1).due(SIZE)
    assert ran(idle, 1, 10 * BUSY).due(SIZE)
    assert not idle.due(MOST_BYTES + 1)
    assert not idle.due(None)
    assert not ran(Timing(), EVERY).due(SIZE), "nothing was said of the query yet"
    idle.fit(possible=False, trigger_s=10)
    assert not idle.due(SIZE)


def test_the_board_tells_how_a_timed_batch_was_divided_and_keeps_the_share() -> None:
    harness = Harness()
    harness.run(1, "a")
    harness.driver.record_bytes = 100.0
    harness.batches.timing.fit(possible=True, trigger_s=1.0)
    for number in range(FIRST):
        assert not harness.batches.begin(number, 100, None)
        harness.batches.written(None)
        harness.batches.finish(report(number, run="a"))
    assert harness.batches.begin(FIRST, 100, None)
    assert harness.driver.running is not None
    assert harness.driver.running.timed
    harness.batches.written(Split(compute_s=1.0, sink_s=3.0))
    harness.batches.begin(FIRST + 1, 100, None)  # before the listener has heard of the last one
    harness.batches.finish(report(FIRST, run="a"))
    last = harness.driver.last
    assert last is not None
    assert last.timed
    assert (last.report.phases["compute"], last.report.phases["sink"]) == (1.0, 3.0)
    harness.batches.finish(report(FIRST + 1, run="a"))
    assert harness.driver.last is not None
    assert not harness.driver.last.timed
    assert "sink" not in harness.driver.last.report.phases
    assert harness.driver.sink_share == 0.75


def test_a_batch_that_runs_again_is_not_timed() -> None:
    harness = Harness()
    harness.run(1, "a")
    harness.driver.record_bytes = 100.0
    ran(harness.batches.timing, FIRST)
    harness.batches.timing.fit(possible=True, trigger_s=1.0)
    assert not harness.batches.begin(7, 100, None, replays=1)
    assert harness.batches.begin(7, 100, None)


class Frame:
    """A data frame that notes what is done to it."""

    def __init__(self, failing: str = "", error: Exception | None = None) -> None:
        self.done: list[str] = []
        self._failing, self._error = failing, error or OSError("no room")

    def __getattr__(self, name: str) -> Any:
        if name in {"sparkSession", "sparkContext", "write"}:
            return self
        return self._note(name)

    def _note(self, name: str) -> Callable[..., Frame]:
        def call(*_: Any, **__: Any) -> Frame:
            if name not in {"setLocalProperty", "format", "options"}:
                self.done.append(name)
            if name == self._failing:
                raise self._error
            return self

        return call


def writer(*, timed: bool, gate: Gate) -> tuple[BatchWriter, list[Split | None]]:
    heard: list[Split | None] = []
    sink = KafkaSink(endpoints.KafkaSinkDocument(bootstrap_servers="kafka:9092", topic="out"))
    return BatchWriter(gate, Live(sink), lambda _: timed, heard.append), heard


def test_a_timed_batch_is_kept_written_once_and_let_go() -> None:
    write, heard = writer(timed=True, gate=Gate())
    frame = Frame()
    write(frame, 7)
    assert frame.done == ["persist", "count", "save", "unpersist"]
    assert isinstance(heard[0], Split)
    plain, heard = writer(timed=False, gate=Gate())
    frame = Frame()
    plain(frame, 8)
    assert frame.done == ["save"]
    assert heard == [None]


@pytest.mark.parametrize("failing", ["count", "save"])
def test_what_fails_is_let_go_too_and_heard_of_by_nobody(failing: str) -> None:
    write, heard = writer(timed=True, gate=Gate())
    frame = Frame(failing)
    with pytest.raises(OSError, match="no room"):
        write(frame, 7)
    assert frame.done[-1] == "unpersist"
    assert heard == []
    assert isinstance(write.failure, OSError)


def test_what_spark_cannot_compute_is_left_to_the_sink() -> None:
    """It may know what to do with a record that fails."""
    write, heard = writer(timed=True, gate=Gate())
    frame = Frame("count", PySparkException("a record fails"))
    write(frame, 7)
    assert frame.done == ["persist", "count", "unpersist", "save"]
    assert heard == [None]


def test_a_closed_gate_lets_no_timed_batch_begin() -> None:
    gate = Gate()
    gate.close()
    write, _ = writer(timed=True, gate=gate)
    frame = Frame()
    with pytest.raises(GateClosedError):
        write(frame, 7)
    assert frame.done == []

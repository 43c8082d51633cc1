"""The gate runner: its schedule over phases that a test plays, and its processes."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from dev.gates import __main__ as program
from dev.gates import phases as listed
from dev.gates import processes, report, schedule
from dev.gates.phases import Phase
from dev.gates.report import Counts
from dev.gates.schedule import Outcome, Result, Room, run_all, startable

REPORT = (
    '<testsuites><testsuite name="pytest" errors="1" failures="2" skipped="3" tests="10"/>'
    "</testsuites>"
)


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(listed, "REPORTS", tmp_path)
    return tmp_path


MEMORY_GIB = 16.0
ROOM = Room(2, MEMORY_GIB)


class Played:
    """Phases take some seconds and end with a code; test phases leave a report of 5 passed."""

    def __init__(
        self,
        codes: Mapping[str, int] | None = None,
        seconds: Mapping[str, float] | float = 1.0,
        room: Room = ROOM,
    ) -> None:
        self.codes, self.room = codes or {}, room
        self._seconds, self._now = seconds, 0.0
        self._ends: dict[Phase, float] = {}
        self.most_cores = 0.0
        self.stopped: list[str] = []

    def clock(self) -> float:
        return self._now

    def start(self, phase: Phase, limit_s: float) -> None:
        known = self._seconds
        takes_s = known if isinstance(known, float) else known.get(phase.name, 1.0)
        self._ends[phase] = self._now + min(takes_s, limit_s)
        self.most_cores = max(self.most_cores, sum(each.cores for each in self._ends))

    def wait(self) -> tuple[Phase, int]:
        phase = min(self._ends, key=lambda each: self._ends[each])
        self._now = self._ends.pop(phase)
        code = self.codes.get(phase.name, 0)
        if phase.tests:
            failed = 1 if code == 1 else 0
            phase.report.write_text(f'<testsuite tests="{5 + failed}" failures="{failed}"/>')
        return phase, code

    def stop(self) -> None:
        self.stopped = [phase.name for phase in self._ends]

    def lacks(self) -> str:
        return "MISSING root: run as root"


def every() -> list[Phase]:
    return [
        Phase("lint", ("true",), 10),
        Phase("unit", ("true",), 10, ("tests/unit",), after=("lint",)),
        Phase("doctor", ("true",), 10, after=("unit",)),
        Phase("cluster", ("true",), 10, ("tests/cluster",), ("doctor",), needs_cluster=True),
    ]


def outcomes(results: list[Result]) -> list[Outcome]:
    return [result.outcome for result in results]


def test_everything_passes_and_the_counts_add_up() -> None:
    results = run_all(every(), Played(), required=True)
    assert outcomes(results) == [Outcome.PASSED] * 4
    assert [(r.began, r.seconds) for r in results] == [(0, 1), (1, 1), (2, 1), (3, 1)]
    assert str(report.total(results)) == "10 passed, 0 failed, 0 skipped"


def test_a_failing_phase_stops_the_run() -> None:
    results = run_all(every(), Played({"unit": 1}), required=True)
    assert outcomes(results) == [
        Outcome.PASSED, Outcome.FAILED, Outcome.NOT_RUN, Outcome.NOT_RUN,
    ]  # fmt: skip
    assert str(report.total(results)) == "5 passed, 1 failed, 0 skipped"


def test_what_runs_beside_a_phase_that_fails_is_stopped_and_nothing_else_begins() -> None:
    beside = [
        Phase("long", ("true",), 100, cores=1.0),
        Phase("bad", ("true",), 100, cores=1.0),
        Phase("next", ("true",), 100, cores=1.0),
    ]
    machine = Played({"bad": 1}, {"long": 50.0, "bad": 20.0})
    results = run_all(beside, machine, required=True)
    assert outcomes(results) == [Outcome.STOPPED, Outcome.FAILED, Outcome.NOT_RUN]
    assert machine.stopped == ["long"]
    assert (results[0].began, results[0].seconds) == (0, 20)


def test_phases_run_side_by_side_within_the_cores_of_the_machine() -> None:
    work = [Phase(name, ("true",), 100, cores=1.0) for name in ("a", "b", "c", "d")]
    machine = Played(seconds={"a": 10.0, "b": 30.0, "c": 30.0, "d": 10.0})
    results = run_all(work, machine, required=True)
    assert [(r.began, r.began + r.seconds) for r in results] == [
        (0, 10), (0, 30), (10, 40), (30, 40),
    ]  # fmt: skip
    assert machine.most_cores == 2.0


def test_one_core_runs_one_after_the_other_even_what_needs_more() -> None:
    work = [Phase(name, ("true",), 100, cores=1.5) for name in ("a", "b")]
    results = run_all(work, Played(seconds=10.0, room=Room(1, 8)), required=True)
    assert [r.began for r in results] == [0, 10]


def test_what_takes_only_the_rest_waits_for_no_core() -> None:
    work = [Phase("timed", ("true",), 100, cores=2.0), Phase("polite", ("true",), 100)]
    assert startable(work, (), (), ROOM) == work


def test_a_phase_that_does_not_fit_yet_keeps_its_place() -> None:
    large, small = Phase("l", ("true",), 9, cores=1.5), Phase("s", ("true",), 9, cores=0.5)
    running = [Phase("r", ("true",), 9, cores=1.0)]
    assert startable([large, small], (), running, ROOM) == []
    assert startable([small, large], (), running, ROOM) == [small]


def test_what_does_not_fit_into_the_memory_runs_one_after_the_other() -> None:
    work = [Phase(name, ("true",), 9, cores=0.5, memory_gib=3) for name in ("a", "b", "c")]
    assert startable(work, (), (), Room(2, 8)) == work[:2]
    assert startable(work, (), (), Room(2, 2)) == work[:1]


def test_a_machine_of_little_memory_runs_all_with_fewer_side_by_side() -> None:
    assert [listed.side_by_side(gib, 4.0, 3) for gib in (4, 6, 10, 14, 64)] == [1, 1, 2, 3, 3]
    small = listed.phases(6.0)
    processes_of = {p.name: p.argv[p.argv.index("-n") + 1] for p in small if "-n" in p.argv}
    assert processes_of == {"unit": "2", "kafka": "2", "e2e": "1"}
    results = run_all(small, Played(room=Room(2, 4)), required=True)
    began = {result.phase.name: result for result in results}
    assert began["e2e"].began >= began["kafka"].began + began["kafka"].seconds


def test_a_phase_waits_for_all_that_it_comes_after() -> None:
    work = [
        Phase("slow", ("true",), 100),
        Phase("fast", ("true",), 100),
        Phase("both", ("true",), 100, after=("slow", "fast")),
        Phase("one", ("true",), 100, after=("fast",)),
    ]
    results = run_all(work, Played(seconds={"slow": 10.0}), required=True)
    assert [r.began for r in results] == [0, 0, 10, 1]


def test_a_machine_without_a_cluster_skips_and_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = run_all(every(), Played({"doctor": 1}), required=False)
    assert outcomes(results)[2:] == [Outcome.SKIPPED, Outcome.SKIPPED]
    assert "skipped: e2e (MISSING root: run as root)" in capsys.readouterr().out.splitlines()


def test_a_machine_without_a_cluster_fails_where_it_is_required() -> None:
    results = run_all(every(), Played({"doctor": 1}), required=True)
    assert outcomes(results)[2:] == [Outcome.FAILED, Outcome.NOT_RUN]


def test_the_time_of_the_whole_run_is_a_limit_too() -> None:
    work = [Phase("a", ("true",), 1e9), Phase("b", ("true",), 1e9, after=("a",))]
    results = run_all(work, Played(seconds=1e9), required=True)
    assert outcomes(results) == [Outcome.PASSED, Outcome.TIMED_OUT]
    assert results[0].seconds == schedule.BUDGET_S
    ending_s = sum(wait_s for _, wait_s in processes.GRACE_S)
    assert schedule.BUDGET_S + ending_s + processes.CLEANUP_S < 87 * 60


@pytest.mark.parametrize(
    ("code", "counts", "required", "expected"),
    [
        (0, Counts(3), True, Outcome.PASSED),
        (0, Counts(0, 0, 3), True, Outcome.FAILED),
        (0, Counts(0, 0, 3), False, Outcome.PASSED),
        (0, Counts(3, 1), True, Outcome.FAILED),
        (0, None, True, Outcome.FAILED),
        (1, Counts(3), True, Outcome.FAILED),
        (5, None, True, Outcome.FAILED),
        (schedule.CODE_TIMED_OUT, None, True, Outcome.TIMED_OUT),
    ],
)
def test_what_passes_a_phase_of_tests(
    code: int, counts: Counts | None, required: bool, expected: Outcome
) -> None:
    phase = Phase("cluster", ("true",), 10, ("tests/cluster",), needs_cluster=True)
    assert schedule.judge(phase, code, counts, required=required)[0] is expected


def test_unit_tests_that_all_skip_are_no_pass_anywhere() -> None:
    phase = Phase("unit", ("true",), 10, ("tests/unit",))
    assert schedule.judge(phase, 0, Counts(0, 0, 4), required=False)[0] is Outcome.FAILED


def test_counts_are_read_from_the_report(tmp_path: Path) -> None:
    file = tmp_path / "r.xml"
    assert report.read_report(file) is None
    file.write_text("<testsuite")
    assert report.read_report(file) is None
    file.write_text(REPORT)
    assert report.read_report(file) == Counts(4, 3, 3)


def test_the_report_of_an_earlier_run_does_not_count() -> None:
    class Silent(Played):
        def wait(self) -> tuple[Phase, int]:
            return self._ends.popitem()[0], 0

    phase = Phase("unit", ("true",), 10, ("tests/unit",))
    phase.report.write_text('<testsuite tests="7"/>')
    results = run_all([phase], Silent(), required=True)
    assert (results[0].outcome, results[0].counts) == (Outcome.FAILED, None)


def test_the_table_has_a_line_for_each_phase() -> None:
    results = run_all(every(), Played({"lint": 2}), required=True)
    lines = report.table(results)
    assert len(lines) == 1 + len(results)
    assert re.match(r"lint +FAILED +0\.0 +1\.0  exit code 2$", lines[1])
    assert "not run" in lines[-1]


def test_the_slowest_tests_are_named_whichever_phase_they_are_of(tmp_path: Path) -> None:
    case = '<testcase classname="tests.{0}" name="test_{0}" time="{1}"/>'
    files = [tmp_path / "a.xml", tmp_path / "b.xml", tmp_path / "none.xml"]
    files[0].write_text(f"<testsuite>{case.format('a', 3)}{case.format('b', 0.25)}</testsuite>")
    files[1].write_text(f"<testsuite>{case.format('c', 12)}</testsuite>")
    assert report.slowest(files, 2) == ["    12.0  tests.c::test_c", "     3.0  tests.a::test_a"]


def test_failed_tests_are_named_with_what_their_error_says_first(tmp_path: Path) -> None:
    files = [tmp_path / "a.xml", tmp_path / "none.xml"]
    files[0].write_text(
        '<testsuite><testcase classname="tests.a" name="test_a" time="1"/>'
        '<testcase classname="tests.a" name="test_b" time="1">'
        '<failure message="assert 1 ==&#10; 2">the whole trace</failure></testcase>'
        '<testcase classname="tests.a" name="test_c" time="1"><error>no\nbroker</error></testcase>'
        "</testsuite>"
    )
    assert report.failures(files) == [
        "tests.a::test_b: assert 1 == 2",
        "tests.a::test_c: no broker",
    ]


def test_e2e_is_left_out_while_it_has_no_tests(tmp_path: Path) -> None:
    def folders() -> list[tuple[str, ...]]:
        return [p.tests for p in listed.phases(MEMORY_GIB, tmp_path) if p.name == "e2e"]

    assert folders() == []
    (tmp_path / "tests/e2e").mkdir(parents=True)
    (tmp_path / "tests/e2e/conftest.py").touch()
    assert folders() == []
    (tmp_path / "tests/e2e/test_a.py").touch()
    assert folders() == [("tests/e2e",)]
    (tmp_path / "tests/zones").mkdir()
    (tmp_path / "tests/zones/test_b.py").touch()
    assert folders() == [("tests/zones", "tests/e2e")]


def test_every_phase_comes_after_what_it_names_and_fits_a_machine_of_two_cores() -> None:
    found = listed.phases(MEMORY_GIB)
    names = [phase.name for phase in found]
    for phase in found:
        assert set(phase.after) <= set(names), phase.name
        assert phase.cores <= 2.0, phase.name
    results = run_all(found, Played(), required=True)
    assert outcomes(results) == [Outcome.PASSED] * len(found)


def test_whatever_needs_a_cluster_comes_after_the_doctor() -> None:
    found = {phase.name: phase for phase in listed.phases(MEMORY_GIB)}

    def before(name: str) -> set[str]:
        return set(found[name].after).union(*(before(each) for each in found[name].after))

    for name, phase in found.items():
        assert phase.needs_cluster == ("doctor" in before(name)), name
    assert before("cluster") >= {"tools", "images"}
    assert "cluster" in before("e2e")
    assert "cluster" in before("apiserver"), "it would find the other API server"


def test_the_site_is_built_from_the_generated_pages() -> None:
    (docs,) = (phase for phase in listed.phases(MEMORY_GIB) if phase.name == "docs")
    assert (docs.argv, docs.after) == (("make", "docs"), ("generated files",))
    assert Path("docs/reference") in program.GENERATED


def test_every_folder_of_tests_belongs_to_one_phase() -> None:
    folders = sorted(folder for phase in listed.phases(MEMORY_GIB) for folder in phase.tests)
    tests = Path(__file__).parents[2]
    assert folders == sorted(f"tests/{f.name}" for f in tests.iterdir() if [*f.rglob("test_*.py")])


def test_generated_files_that_changed_are_named() -> None:
    assert program.changed({"a": b"1", "b": b"1"}, {"a": b"1", "b": b"1"}) == []
    assert program.changed({"a": b"1", "b": b"1"}, {"b": b"2", "c": b"3"}) == ["a", "b", "c"]


def _gone(pid: int) -> bool:
    """Whether a process is no more, or only waits to be reaped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return True
    return state == "Z"


def _until(probe: Callable[[], bool], limit_s: float = 10) -> None:
    end = time.monotonic() + limit_s
    while not probe():
        assert time.monotonic() < end, "not so in time"
        time.sleep(0.02)


STUBBORN = """
import pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "60"])
pathlib.Path(sys.argv[1]).write_text(str(child.pid))
time.sleep(60)
"""


def test_a_phase_over_its_time_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grace = ((signal.SIGINT, 0.2), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
    monkeypatch.setattr(processes, "GRACE_S", grace)
    pid, cleaned = tmp_path / "pid", tmp_path / "cleaned"
    argv = (sys.executable, "-c", STUBBORN, str(pid))
    for limit_s in (1.0, 4.0, 16.0):  # on a busy machine, Python takes longer than that to start
        phase = Phase("slow", argv, limit_s, cleanup=("touch", str(cleaned)))
        assert processes.run_phase(phase, limit_s, threading.Event()) == schedule.CODE_TIMED_OUT
        if pid.exists():
            break
    _until(lambda: _gone(int(pid.read_text())))
    assert cleaned.exists()


def test_what_takes_only_the_rest_gets_a_lower_priority(tmp_path: Path) -> None:
    told, own = tmp_path / "nice", os.getpriority(os.PRIO_PROCESS, 0)
    expected = min(19, own + processes.NICENESS)
    lowered = f"until test $(nice) -ge {expected}; do sleep 0.02; done; nice > {told}"
    polite = Phase("polite", ("sh", "-c", lowered), 30)
    assert processes.run_phase(polite, 30, threading.Event()) == 0
    assert int(told.read_text()) == expected
    timed = Phase("timed", ("sh", "-c", f"nice > {told}"), 30, cores=1.0)
    assert processes.run_phase(timed, 30, threading.Event()) == 0
    assert int(told.read_text()) == own


@pytest.mark.parametrize("leaves", [True, False])
@pytest.mark.parametrize("keep", ["1", ""])
def test_a_phase_in_time_gives_its_own_code_and_takes_its_cluster_down(
    leaves: bool, keep: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEP", keep)
    cleanup = ("touch", str(tmp_path / "cleaned"))
    phase = Phase("three", ("sh", "-c", "exit 3"), 10, cleanup=cleanup, leaves_cluster=leaves)
    assert processes.run_phase(phase, 10, threading.Event()) == 3
    assert (tmp_path / "cleaned").exists() == (leaves and keep != "1")


def test_a_cleanup_that_does_not_end_is_told_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(processes, "CLEANUP_S", 0.2)
    phase = Phase("a", ("true",), 10, cleanup=("sleep", "30"), leaves_cluster=True)
    assert processes.run_phase(phase, 10, threading.Event()) == 0
    assert "cleaning up after a" in capsys.readouterr().err


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 1", 1)])
def test_the_program_closes_with_the_counts(
    script: str, code: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    handler = signal.getsignal(signal.SIGTERM)
    report = '<testsuite tests="2"/>'
    tests = Phase("unit", ("sh", "-c", f"echo '{report}' > {listed.REPORTS}/unit.xml"), 10, ("t",))
    last = Phase("last", ("sh", "-c", script), 10, after=("unit",))
    monkeypatch.setattr(listed, "phases", lambda _: [tests, last])
    try:
        assert program.main([]) == code
    finally:
        signal.signal(signal.SIGTERM, handler)
    lines = capfd.readouterr().out.splitlines()
    assert lines[-1] == "2 passed, 0 failed, 0 skipped"
    assert ("gates failed at: last" in lines) == bool(code)


def test_an_unknown_argument_is_refused() -> None:
    assert program.main(["nonsense"]) == 2

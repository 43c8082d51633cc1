"""The gate runner, over phases that a test plays."""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from dev import gates
from dev.gates import Counts, Machine, Outcome, Phase

REPORT = (
    '<testsuites><testsuite name="pytest" errors="1" failures="2" skipped="3" tests="10"/>'
    "</testsuites>"
)


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(gates, "REPORTS", tmp_path)
    return tmp_path


def machine(codes: dict[str, int] | None = None, seconds: float = 1.0) -> Machine:
    """Phases take some seconds and end with a code; test phases leave a report of 5 passed."""
    now = [0.0]

    def run(phase: Phase, limit_s: float) -> int:
        now[0] += min(seconds, limit_s)
        code = (codes or {}).get(phase.name, 0)
        if phase.tests:
            failed = 1 if code == 1 else 0
            phase.report.write_text(f'<testsuite tests="{5 + failed}" failures="{failed}"/>')
        return code

    return Machine(run, lambda: now[0], lambda: "MISSING root: run as root")


def every() -> list[Phase]:
    return [
        Phase("lint", ("true",), 10),
        Phase("unit", ("true",), 10, ("tests/unit",)),
        Phase("doctor", ("true",), 10),
        Phase("cluster", ("true",), 10, ("tests/cluster",), needs_cluster=True),
    ]


def outcomes(results: list[gates.Result]) -> list[Outcome]:
    return [result.outcome for result in results]


def test_everything_passes_and_the_counts_add_up() -> None:
    results = gates.run_all(every(), machine(), required=True)
    assert outcomes(results) == [Outcome.PASSED] * 4
    assert str(gates.total(results)) == "10 passed, 0 failed, 0 skipped"


def test_a_failing_phase_stops_the_run() -> None:
    results = gates.run_all(every(), machine({"unit": 1}), required=True)
    assert outcomes(results) == [
        Outcome.PASSED, Outcome.FAILED, Outcome.NOT_RUN, Outcome.NOT_RUN,
    ]  # fmt: skip
    assert str(gates.total(results)) == "5 passed, 1 failed, 0 skipped"


def test_a_machine_without_a_cluster_skips_and_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = gates.run_all(every(), machine({"doctor": 1}), required=False)
    assert outcomes(results)[2:] == [Outcome.SKIPPED, Outcome.SKIPPED]
    assert "skipped: e2e (MISSING root: run as root)" in capsys.readouterr().out.splitlines()


def test_a_machine_without_a_cluster_fails_where_it_is_required() -> None:
    results = gates.run_all(every(), machine({"doctor": 1}), required=True)
    assert outcomes(results)[2:] == [Outcome.FAILED, Outcome.NOT_RUN]


def test_the_time_of_the_whole_run_is_a_limit_too() -> None:
    phases = [Phase(name, ("true",), 1e9) for name in ("a", "b")]
    results = gates.run_all(phases, machine(seconds=1e9), required=True)
    assert outcomes(results) == [Outcome.PASSED, Outcome.TIMED_OUT]
    assert results[0].seconds == gates.BUDGET_S
    ending_s = sum(wait_s for _, wait_s in gates.GRACE_S)
    assert gates.BUDGET_S + ending_s + gates.CLEANUP_S < 85 * 60


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
        (gates.CODE_TIMED_OUT, None, True, Outcome.TIMED_OUT),
    ],
)
def test_what_passes_a_phase_of_tests(
    code: int, counts: Counts | None, required: bool, expected: Outcome
) -> None:
    phase = Phase("cluster", ("true",), 10, ("tests/cluster",), needs_cluster=True)
    assert gates.judge(phase, code, counts, required=required)[0] is expected


def test_unit_tests_that_all_skip_are_no_pass_anywhere() -> None:
    phase = Phase("unit", ("true",), 10, ("tests/unit",))
    assert gates.judge(phase, 0, Counts(0, 0, 4), required=False)[0] is Outcome.FAILED


def test_counts_are_read_from_the_report(tmp_path: Path) -> None:
    report = tmp_path / "r.xml"
    assert gates.read_report(report) is None
    report.write_text("<testsuite")
    assert gates.read_report(report) is None
    report.write_text(REPORT)
    assert gates.read_report(report) == Counts(4, 3, 3)


def test_the_report_of_an_earlier_run_does_not_count() -> None:
    phase = every()[1]
    phase.report.write_text('<testsuite tests="7"/>')
    results = gates.run_all([phase], Machine(lambda *_: 0, lambda: 0.0, lambda: ""), required=True)
    assert (results[0].outcome, results[0].counts) == (Outcome.FAILED, None)


def test_the_table_has_a_line_for_each_phase() -> None:
    results = gates.run_all(every(), machine({"lint": 2}), required=True)
    lines = gates.table(results)
    assert len(lines) == 1 + len(results)
    assert re.match(r"lint +FAILED +1\.0  exit code 2$", lines[1])
    assert "not run" in lines[-1]


def test_e2e_is_left_out_while_it_has_no_tests(tmp_path: Path) -> None:
    assert gates.phases(tmp_path)[-1].name == "cluster"
    (tmp_path / "tests/e2e").mkdir(parents=True)
    (tmp_path / "tests/e2e/conftest.py").touch()
    assert gates.phases(tmp_path)[-1].name == "cluster"
    (tmp_path / "tests/e2e/test_a.py").touch()
    assert gates.phases(tmp_path)[-1].name == "e2e"
    (tmp_path / "tests/zones").mkdir()
    (tmp_path / "tests/zones/test_b.py").touch()
    assert [phase.name for phase in gates.phases(tmp_path)[-3:]] == ["cluster", "zones", "e2e"]


def test_fast_phases_come_first_and_the_cluster_last() -> None:
    names = [phase.name for phase in gates.phases()]
    assert names[:7] == [
        "venv", "lint", "types", "contracts", "generated files", "unit", "doctor",
    ]  # fmt: skip
    assert not any(phase.needs_cluster for phase in gates.phases()[:7])
    assert all(phase.needs_cluster for phase in gates.phases()[7:])


def test_generated_files_that_changed_are_named() -> None:
    assert gates.changed({"a": b"1", "b": b"1"}, {"a": b"1", "b": b"1"}) == []
    assert gates.changed({"a": b"1", "b": b"1"}, {"b": b"2", "c": b"3"}) == ["a", "b", "c"]


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
    monkeypatch.setattr(gates, "GRACE_S", grace)
    pid, cleaned = tmp_path / "pid", tmp_path / "cleaned"
    argv = (sys.executable, "-c", STUBBORN, str(pid))
    phase = Phase("slow", argv, 1, cleanup=("touch", str(cleaned)))
    assert gates.run_phase(phase, 1.0) == gates.CODE_TIMED_OUT
    _until(lambda: _gone(int(pid.read_text())))
    assert cleaned.exists()


@pytest.mark.parametrize("leaves", [True, False])
@pytest.mark.parametrize("keep", ["1", ""])
def test_a_phase_in_time_gives_its_own_code_and_takes_its_cluster_down(
    leaves: bool, keep: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEP", keep)
    cleanup = ("touch", str(tmp_path / "cleaned"))
    phase = Phase("three", ("sh", "-c", "exit 3"), 10, cleanup=cleanup, leaves_cluster=leaves)
    assert gates.run_phase(phase, 10) == 3
    assert (tmp_path / "cleaned").exists() == (leaves and keep != "1")


def test_a_cleanup_that_does_not_end_is_told_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gates, "CLEANUP_S", 0.2)
    phase = Phase("a", ("true",), 10, cleanup=("sleep", "30"), leaves_cluster=True)
    assert gates.run_phase(phase, 10) == 0
    assert "cleaning up after a" in capsys.readouterr().err


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 1", 1)])
def test_the_program_closes_with_the_counts(
    script: str, code: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    handler = signal.getsignal(signal.SIGTERM)
    report = '<testsuite tests="2"/>'
    tests = Phase("unit", ("sh", "-c", f"echo '{report}' > {gates.REPORTS}/unit.xml"), 10, ("t",))
    monkeypatch.setattr(gates, "phases", lambda: [tests, Phase("last", ("sh", "-c", script), 10)])
    try:
        assert gates.main([]) == code
    finally:
        signal.signal(signal.SIGTERM, handler)
    lines = capfd.readouterr().out.splitlines()
    assert lines[-1] == "2 passed, 0 failed, 0 skipped"
    assert ("gates failed at: last" in lines) == bool(code)


def test_an_unknown_argument_is_refused() -> None:
    assert gates.main(["nonsense"]) == 2

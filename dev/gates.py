"""Every gate and every test in one run, fast ones first: ``python3 -m dev.gates``.

A phase that fails ends the run. A machine that cannot run the local cluster is a failure only with
``REQUIRE_E2E=1``; without it the phases that need the cluster are skipped, and it says why.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import FrameType

from dev.localcluster import console, doctor
from dev.localcluster.paths import REPO, from_environment

BUDGET_S = 79 * 60.0
"""Seconds for all phases; ending the last one and cleaning up stays within 85 minutes."""

REPORTS = REPO / "build" / "gates"
GENERATED = (Path("crds"), Path("charts/trimtab/files/crds"))
PYTEST = ".venv/bin/pytest"
LOCALCLUSTER = (sys.executable, "-m", "dev.localcluster")
GRACE_S = ((signal.SIGINT, 60.0), (signal.SIGTERM, 15.0), (signal.SIGKILL, 10.0))
"""How a phase is ended, gently first, so that fixtures can take down what they booted."""

CLEANUP_S = 180.0
CODE_TIMED_OUT = 124
DOCTOR = "doctor"


class Outcome(StrEnum):
    """How a phase ended."""

    PASSED = "passed"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED OUT"
    SKIPPED = "skipped"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Counts:
    """Tests by how they ended; an error counts as failed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass(frozen=True)
class Phase:
    """One command with a time limit in seconds; `tests` are the folders of a pytest run."""

    name: str
    argv: tuple[str, ...]
    limit_s: float
    tests: tuple[str, ...] = ()
    needs_cluster: bool = False
    cleanup: tuple[str, ...] = ()
    """Run when the phase had to be killed."""
    leaves_cluster: bool = False
    """Its fixture leaves a cluster up: the cleanup is run however it ends, but for KEEP=1."""

    @property
    def report(self) -> Path:
        """Where pytest leaves its counts."""
        return REPORTS / f"{self.name.replace(' ', '-')}.xml"

    def command(self) -> list[str]:
        """The whole command line."""
        if not self.tests:
            return list(self.argv)
        return [*self.argv, *self.tests, "-q", f"--junitxml={self.report}"]


@dataclass(frozen=True)
class Result:
    """What became of a phase."""

    phase: Phase
    outcome: Outcome
    seconds: float = 0.0
    counts: Counts | None = None
    remark: str = ""


def phases(repo: Path = REPO) -> list[Phase]:
    """Every phase, in order; what runs on a whole cluster only where there are tests of it."""
    down = (*LOCALCLUSTER, "down")
    found = [
        Phase("venv", ("make", "venv"), 900),
        Phase("lint", ("make", "lint"), 120),
        Phase("types", ("make", "types"), 300),
        Phase("contracts", ("make", "contracts"), 120),
        Phase("generated files", (sys.executable, "-m", "dev.gates", "generated"), 120),
        Phase("unit", (PYTEST,), 600, ("tests/unit", "tests/simulation")),
        Phase(DOCTOR, (*LOCALCLUSTER, "doctor", "--install"), 900),
        Phase("tools", (*LOCALCLUSTER, "tools"), 2400, needs_cluster=True),
        Phase("apiserver", (PYTEST,), 600, ("tests/apiserver",), needs_cluster=True),
        # no cluster, but the Java and Maven that doctor installs for one
        Phase("bench", (PYTEST,), 900, ("tests/bench",), needs_cluster=True),
        Phase("kafka", (PYTEST,), 1800, ("tests/kafka",), needs_cluster=True),
        Phase("images", (*LOCALCLUSTER, "images"), 1800, needs_cluster=True),
        Phase("cluster", (PYTEST,), 1200, ("tests/cluster",), needs_cluster=True, cleanup=down),
    ]
    for name, limit_s in (("zones", 900), ("e2e", 2400)):
        if any((repo / "tests" / name).rglob("test_*.py")):
            argv = (PYTEST, "-m", "e2e")
            whole = Phase(name, argv, limit_s, (f"tests/{name}",), needs_cluster=True)
            # the cluster phase refuses to run beside a cluster: what is up after it is of this run
            found.append(replace(whole, cleanup=down, leaves_cluster=True))
    return found


def read_report(path: Path) -> Counts | None:
    """The counts of a junit file; None where pytest did not get as far as to write one."""
    try:
        # the file was written by our own pytest a moment ago
        root = ET.parse(path).getroot()  # noqa: S314
    except (OSError, ET.ParseError):
        return None
    total = Counts()
    for suite in root.iter("testsuite"):
        failed = int(suite.get("failures", "0")) + int(suite.get("errors", "0"))
        skipped = int(suite.get("skipped", "0"))
        ran = int(suite.get("tests", "0"))
        total += Counts(max(0, ran - failed - skipped), failed, skipped)
    return total


def judge(phase: Phase, code: int, counts: Counts | None, *, required: bool) -> tuple[Outcome, str]:
    """How a phase ended that ran, and a remark; exit code 0 alone does not pass a test phase."""
    if code == CODE_TIMED_OUT:
        return Outcome.TIMED_OUT, "stopped at its time limit"
    if code != 0:
        return Outcome.FAILED, f"exit code {code}"
    if phase.tests and (counts is None or counts.failed):
        return Outcome.FAILED, "no report" if counts is None else "the report names failures"
    if counts is not None and not counts.passed and (required or not phase.needs_cluster):
        return Outcome.FAILED, "no test passed"
    return Outcome.PASSED, ""


def table(results: Sequence[Result]) -> list[str]:
    """The closing table."""
    lines = [f"{'phase':<16} {'outcome':<10} {'seconds':>8}  tests"]
    for result in results:
        words = str(result.counts) if result.counts else ""
        remark = f"{words}  {result.remark}".strip()
        line = f"{result.phase.name:<16} {result.outcome:<10} {result.seconds:>8.1f}  {remark}"
        lines.append(line.rstrip())
    return lines


def total(results: Sequence[Result]) -> Counts:
    """All counts together."""
    return sum((r.counts for r in results if r.counts), Counts())


Runner = Callable[[Phase, float], int]
"""Runs a phase for at most so many seconds; returns its exit code."""


@dataclass(frozen=True)
class Machine:
    """What a run takes from outside, so that a test can play it."""

    run: Runner
    clock: Callable[[], float]
    lacks: Callable[[], str]
    """Why this machine cannot run the cluster, in doctor's words."""


def run_all(every: Sequence[Phase], machine: Machine, *, required: bool) -> list[Result]:
    """Run the phases in order until one fails."""
    results: list[Result] = []
    end_s = machine.clock() + BUDGET_S
    lacking, broken = "", False
    for phase in every:
        if broken:
            results.append(Result(phase, Outcome.NOT_RUN))
            continue
        if lacking and phase.needs_cluster:
            results.append(Result(phase, Outcome.SKIPPED, remark="no cluster here"))
            continue
        result = _run_one(phase, machine, end_s, required=required)
        if phase.name == DOCTOR and result.outcome is Outcome.FAILED and not required:
            lacking = machine.lacks()
            console.say(f"skipped: e2e ({lacking})")
            result = replace(result, outcome=Outcome.SKIPPED, remark="no cluster here")
        results.append(result)
        broken = result.outcome in {Outcome.FAILED, Outcome.TIMED_OUT}
    return results


def _run_one(phase: Phase, machine: Machine, end_s: float, *, required: bool) -> Result:
    began = machine.clock()
    limit_s = min(phase.limit_s, end_s - began)
    if limit_s <= 0:
        return Result(phase, Outcome.TIMED_OUT, remark="the time of the whole run is over")
    console.say(f"=== {phase.name} (at most {limit_s:.0f} s)")
    phase.report.unlink(missing_ok=True)
    code = machine.run(phase, limit_s)
    seconds = machine.clock() - began
    counts = read_report(phase.report) if phase.tests else None
    outcome, remark = judge(phase, code, counts, required=required)
    console.say(f"=== {phase.name}: {outcome} in {seconds:.1f} s {remark}".rstrip())
    return Result(phase, outcome, seconds, counts, remark)


def run_phase(phase: Phase, limit_s: float) -> int:
    """Run the command in a session of its own, its output on our terminal."""
    process = subprocess.Popen(
        phase.command(), cwd=REPO, stdin=subprocess.DEVNULL, start_new_session=True
    )
    killed = True
    try:
        code = process.wait(limit_s)
        killed = False
        return code
    except subprocess.TimeoutExpired:
        return CODE_TIMED_OUT
    finally:
        if killed:
            _end(process)
        if killed or (phase.leaves_cluster and os.environ.get("KEEP") != "1"):
            _clean_up(phase)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop the command's process group, the last time for good."""
    for number, wait_s in GRACE_S:
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(wait_s)
        except subprocess.TimeoutExpired:
            continue
    process.poll()


def _clean_up(phase: Phase) -> None:
    if not phase.cleanup:
        return
    try:
        subprocess.run(phase.cleanup, cwd=REPO, check=False, timeout=CLEANUP_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        console.warn(f"cleaning up after {phase.name}: {error}")


def lacks() -> str:
    """What doctor finds missing, on one line."""
    lines = [check.line for check in doctor.examine(from_environment()) if check.problem]
    return "; ".join(lines) or "doctor failed"


def snapshot(folders: Sequence[Path]) -> dict[str, bytes]:
    """Every file below some folders."""
    files = (path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(REPO)): path.read_bytes() for path in files}


def changed(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    """Names that differ, came or went."""
    return sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))


def generated() -> int:
    """Make the generated files anew; 1 if that changed any."""
    folders = [REPO / folder for folder in GENERATED]
    before = snapshot(folders)
    code = subprocess.run(["make", "generate"], cwd=REPO, check=False).returncode
    stale = changed(before, snapshot(folders))
    for name in stale:
        console.warn(f"{name} was not what the models say; it is now: commit it")
    return 1 if code or stale else 0


def _terminated(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(143)


def main(arguments: Sequence[str]) -> int:
    """Run everything, or with `generated` that one check; returns the exit code."""
    if list(arguments) == ["generated"]:
        return generated()
    if arguments:
        console.warn("usage: python3 -m dev.gates")
        return 2
    signal.signal(signal.SIGTERM, _terminated)
    REPORTS.mkdir(parents=True, exist_ok=True)
    required = os.environ.get("REQUIRE_E2E") == "1"
    machine = Machine(run_phase, time.monotonic, lacks)
    results = run_all(phases(), machine, required=required)
    for line in table(results):
        console.say(line)
    bad = [r.phase.name for r in results if r.outcome in {Outcome.FAILED, Outcome.TIMED_OUT}]
    if bad:
        console.say(f"gates failed at: {', '.join(bad)}")
    console.say(str(total(results)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Schedules the phases: in order, each once its dependencies have passed and resources are free."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from dev.gates.phases import DOCTOR, Phase
from dev.gates.report import Counts, read_report
from dev.localcluster import console

BUDGET_S = 81 * 60.0
"""Seconds for all phases; with the end of the last ones and the cleanup, at most 87 minutes."""

CODE_TIMED_OUT = 124


class Outcome(StrEnum):
    """How a phase ended."""

    PASSED = "passed"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED OUT"
    SKIPPED = "skipped"
    STOPPED = "stopped"
    NOT_RUN = "not run"


BAD = frozenset({Outcome.FAILED, Outcome.TIMED_OUT})


@dataclass(frozen=True)
class Result:
    """The outcome of a phase; `began` and `seconds` in seconds, the former since the run began."""

    phase: Phase
    outcome: Outcome
    began: float = 0.0
    seconds: float = 0.0
    counts: Counts | None = None
    remark: str = ""


@dataclass(frozen=True)
class Room:
    """The resources of a machine for phases that run in parallel."""

    cores: float
    memory_gib: float

    def holds(self, together: Iterable[Phase]) -> bool:
        """Whether these phases fit at the same time."""
        phases = list(together)
        return (
            sum(phase.cores for phase in phases) <= self.cores
            and sum(phase.memory_gib for phase in phases) <= self.memory_gib
        )


class Machine(Protocol):
    """What a run needs from outside, so that a test can replace it."""

    @property
    def room(self) -> Room:
        """Its resources for phases."""
        ...

    def clock(self) -> float:
        """Seconds since an arbitrary moment."""
        ...

    def start(self, phase: Phase, limit_s: float) -> None:
        """Start a phase that may take `limit_s` seconds."""
        ...

    def wait(self) -> tuple[Phase, int]:
        """Wait for any phase to end; returns it and its exit code."""
        ...

    def stop(self) -> None:
        """Stop all running phases, and wait for them to end."""
        ...

    def lacks(self) -> str:
        """Why this machine cannot run the cluster, as doctor reports it."""
        ...


def startable(
    waiting: Iterable[Phase], passed: Iterable[str], running: Sequence[Phase], room: Room
) -> list[Phase]:
    """The phases to start now: those whose dependencies have passed and for which there is room.

    One that does not fit yet keeps its place: later ones that need room wait as well. A phase that
    needs more than the machine has runs when no other phase that needs room is running.
    """
    done, found = set(passed), []
    used = [phase for phase in running if phase.cores or phase.memory_gib]
    full = False
    for phase in waiting:
        if not done.issuperset(phase.after):
            continue
        if phase.cores or phase.memory_gib:
            full = full or (bool(used) and not room.holds([*used, phase]))
            if full:
                continue
            used.append(phase)
        found.append(phase)
    return found


def judge(phase: Phase, code: int, counts: Counts | None, *, required: bool) -> tuple[Outcome, str]:
    """The outcome of a finished phase, and a remark; tests need more than exit code 0 to pass."""
    if code == CODE_TIMED_OUT:
        return Outcome.TIMED_OUT, "stopped at its time limit"
    if code != 0:
        return Outcome.FAILED, f"exit code {code}"
    if phase.tests and (counts is None or counts.failed):
        return Outcome.FAILED, "no report" if counts is None else "the report has failures"
    if counts is not None and not counts.passed and (required or not phase.needs_cluster):
        return Outcome.FAILED, "no test passed"
    return Outcome.PASSED, ""


@dataclass
class Run:
    """One run of some phases on a machine, until all have ended or one fails."""

    every: Sequence[Phase]
    machine: Machine
    required: bool
    results: dict[str, Result] = field(default_factory=dict)
    running: dict[str, float] = field(default_factory=dict)
    """When each running phase began, by name."""
    _zero_s: float = 0.0

    def all(self) -> list[Result]:
        """Run them; returns the results in the order of the phases."""
        self._zero_s = self.machine.clock()
        try:
            while not self._broken() and self._start():
                self._end(*self.machine.wait())
        finally:
            self.machine.stop()
        return [self._result(phase) for phase in self.every]

    def _start(self) -> bool:
        """Start what can start; returns whether anything is running."""
        known = self.results.keys() | self.running.keys()
        waiting = [phase for phase in self.every if phase.name not in known]
        passed = [n for n, r in self.results.items() if r.outcome is Outcome.PASSED]
        running = [phase for phase in self.every if phase.name in self.running]
        for phase in startable(waiting, passed, running, self.machine.room):
            now = self.machine.clock()
            limit_s = min(phase.limit_s, self._zero_s + BUDGET_S - now)
            if limit_s <= 0:
                remark = "the time for the whole run is over"
                self._note(Result(phase, Outcome.TIMED_OUT, now - self._zero_s, remark=remark))
                return False
            console.say(f"=== {phase.name} (at most {limit_s:.0f} s)")
            phase.report.unlink(missing_ok=True)
            self.running[phase.name] = now
            self.machine.start(phase, limit_s)
        return bool(self.running)

    def _end(self, phase: Phase, code: int) -> None:
        began = self.running.pop(phase.name)
        seconds = self.machine.clock() - began
        counts = read_report(phase.report) if phase.tests else None
        outcome, remark = judge(phase, code, counts, required=self.required)
        if phase.name == DOCTOR and outcome is Outcome.FAILED and not self.required:
            outcome, remark = Outcome.SKIPPED, "no cluster here"
            console.say(f"skipped: e2e ({self.machine.lacks()})")
            for each in self.every:
                if each.needs_cluster:
                    self.results[each.name] = Result(each, Outcome.SKIPPED, remark=remark)
        self._note(Result(phase, outcome, began - self._zero_s, seconds, counts, remark))

    def _note(self, result: Result) -> None:
        self.results[result.phase.name] = result
        line = f"=== {result.phase.name}: {result.outcome} in {result.seconds:.1f} s"
        console.say(f"{line} {result.remark}".rstrip())

    def _broken(self) -> bool:
        return any(result.outcome in BAD for result in self.results.values())

    def _result(self, phase: Phase) -> Result:
        if phase.name in self.results:
            return self.results[phase.name]
        began = self.running.get(phase.name)
        if began is None:
            return Result(phase, Outcome.NOT_RUN)
        seconds = self.machine.clock() - began
        return Result(phase, Outcome.STOPPED, began - self._zero_s, seconds)


def run_all(every: Sequence[Phase], machine: Machine, *, required: bool) -> list[Result]:
    """Run the phases in parallel until one fails."""
    return Run(every, machine, required).all()

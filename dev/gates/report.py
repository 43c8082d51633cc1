"""Reads pytest's reports of the phases, and makes the tables at the end of a run."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dev.gates.schedule import Result

SLOWEST = 20

MESSAGE_CHARACTERS = 500
"""At most this much of an error: whoever sees only the end of a log shall see what went wrong."""


@dataclass(frozen=True)
class Counts:
    """Tests by outcome; an error counts as failed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def _root(path: Path) -> ET.Element | None:
    """A JUnit file's content; None if pytest did not get far enough to write one."""
    try:
        # our own pytest has just written the file
        return ET.parse(path).getroot()  # noqa: S314
    except (OSError, ET.ParseError):
        return None


def read_report(path: Path) -> Counts | None:
    """The counts of a JUnit file; None if it is missing or incomplete."""
    root = _root(path)
    if root is None:
        return None
    total = Counts()
    for suite in root.iter("testsuite"):
        failed = int(suite.get("failures", "0")) + int(suite.get("errors", "0"))
        skipped = int(suite.get("skipped", "0"))
        ran = int(suite.get("tests", "0"))
        total += Counts(max(0, ran - failed - skipped), failed, skipped)
    return total


def slowest(paths: Iterable[Path], most: int = SLOWEST) -> list[str]:
    """One line for each of the slowest tests in some JUnit files, with its seconds."""
    found: list[tuple[float, str]] = []
    for path in paths:
        root = _root(path)
        for case in root.iter("testcase") if root is not None else ():
            name = f"{case.get('classname', '')}::{case.get('name', '')}"
            found.append((float(case.get("time", "0")), name))
    return [f"{seconds:>8.1f}  {name}" for seconds, name in sorted(found, reverse=True)[:most]]


def failures(paths: Iterable[Path]) -> list[str]:
    """One line for each test that failed in some JUnit files, with what its error says first."""
    lines = []
    for path in paths:
        root = _root(path)
        for case in root.iter("testcase") if root is not None else ():
            for bad in (*case.findall("failure"), *case.findall("error")):
                said = " ".join((bad.get("message") or bad.text or "").split())[:MESSAGE_CHARACTERS]
                lines.append(f"{case.get('classname', '')}::{case.get('name', '')}: {said}")
    return lines


def table(results: Sequence[Result]) -> list[str]:
    """The final table: when each phase began, how long it took, and its tests."""
    lines = [f"{'phase':<16} {'outcome':<10} {'began':>8} {'seconds':>8}  tests"]
    for result in results:
        words = str(result.counts) if result.counts else ""
        remark = f"{words}  {result.remark}".strip()
        times = f"{result.began:>8.1f} {result.seconds:>8.1f}"
        lines.append(f"{result.phase.name:<16} {result.outcome:<10} {times}  {remark}".rstrip())
    return lines


def total(results: Sequence[Result]) -> Counts:
    """The sum of all counts."""
    return sum((r.counts for r in results if r.counts), Counts())

"""What a fault did, as JSON files under build/faults.

`python -m tests.faults.table` makes the tables of docs/reliability.md of them. A fault of the
catalogue has one file, and only whole runs are recorded (`make test-faults`, TRIMTAB_LONG=1): a few
tries say little. A line has a file for each test of it that passes (tests/conftest.py).
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from tests.faults.catalogue import CATALOGUE
from tests.faults.lines import LINES
from tests.long import WHOLE

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "faults"


def _commit() -> str:
    argv = ["git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


@dataclass
class Row:
    """One fault: None is what nobody has measured, which is not zero."""

    fault: str
    """A key of the catalogue or of the lines."""
    tried: int
    over_s: float | None = None
    """How long the run was to last in seconds, if it was to last for some time."""
    lost: int | None = None
    """Records."""
    duplicated_planned: int | None = None
    """Records that came twice because of planned changes."""
    duplicated_crash: int | None = None
    """Records that came twice because of what was killed."""
    unwell_s: float | None = None
    """The longest time, in seconds, until all was as it must be again."""
    said: str = ""
    """What a person could read meanwhile."""
    commit: str = field(default_factory=_commit)


def record(row: Row, test: str = "") -> None:
    """Keep a row of the catalogue, if this is a whole run, or what one test of a line measured."""
    assert row.fault in (LINES if test else CATALOGUE), row.fault
    if WHOLE or test:
        FOLDER.mkdir(parents=True, exist_ok=True)
        name = f"{row.fault}--{test}" if test else row.fault
        (FOLDER / f"{name}.json").write_text(json.dumps(asdict(row), indent=1) + "\n")


def together(one: Row, other: Row) -> Row:
    """The row of two tests of one line: what only one of them measured is what it measured."""

    def measured(name: str) -> list[float]:
        return [n for row in (one, other) if (n := getattr(row, name)) is not None]

    counts = ("lost", "duplicated_planned", "duplicated_crash")
    return replace(
        one,
        tried=one.tried + other.tried,
        unwell_s=max(measured("unwell_s"), default=None),
        said=one.said or other.said,
        **{name: sum(n) if (n := measured(name)) else None for name in counts},
    )


class Book:
    """The tries of some faults: kept as a row for each when all of them are done."""

    def __init__(self) -> None:
        self._tries: dict[str, list[tuple[float, str]]] = {}

    def note(self, fault: str, unwell_s: float, said: str) -> None:
        """One try that went as it must."""
        assert fault in CATALOGUE, fault
        self._tries.setdefault(fault, []).append((unwell_s, said))

    def close(self) -> None:
        """Record the rows."""
        for fault, tries in self._tries.items():
            said = next((words for _, words in tries if words), "")
            record(Row(fault, len(tries), unwell_s=max(s for s, _ in tries), said=said))


def recorded(folder: Path = FOLDER) -> dict[str, Row]:
    """The rows of the last runs, by key."""
    rows: dict[str, Row] = {}
    for path in sorted(folder.glob("*.json")):
        row = Row(**json.loads(path.read_text()))
        rows[row.fault] = together(rows[row.fault], row) if row.fault in rows else row
    return rows

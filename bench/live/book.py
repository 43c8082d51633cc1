"""The file of all measurements: written after each of them, so that a run can be resumed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.live.points import Window
from dev.localcluster import console


@dataclass
class Book:
    """All measurements so far."""

    path: Path
    windows: list[Window] = field(default_factory=list)
    """Windows of static settings: the grid."""
    runs: list[dict[str, Any]] = field(default_factory=list)
    """Runs of contenders under a load, see `contest.py`."""

    @classmethod
    def open(cls, path: Path) -> Book:
        """Read the file; an empty book if there is none."""
        if not path.exists():
            return cls(path)
        document = json.loads(path.read_text())
        return cls(path, [Window.read(w) for w in document["windows"]], document["runs"])

    def add(self, window: Window) -> None:
        """Add a window and write the file."""
        self.windows.append(window)
        console.say(
            f"{window.goal} {window.point.name}: met {window.met:.1%}, p95 {window.p95_s:.2f} s,"
            f" {window.rate:.0f}/s{', saturated' if window.saturated else ''}"
        )
        self._write()

    def add_run(self, run: dict[str, Any]) -> None:
        """Add a contender's run and write the file."""
        self.runs.append(run)
        self._write()

    def _write(self) -> None:
        """Write one line per measurement."""
        windows = ",\n".join(json.dumps(w.document()) for w in self.windows)
        runs = ",\n".join(json.dumps(run) for run in self.runs)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        fresh.write_text(f'{{"windows": [\n{windows}\n], "runs": [\n{runs}\n]}}\n')
        fresh.replace(self.path)

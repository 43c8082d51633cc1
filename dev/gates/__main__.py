"""``python3 -m dev.gates``: everything; ``python3 -m dev.gates generated``: that one check."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from dev.gates import phases, report
from dev.gates.processes import Processes
from dev.gates.schedule import BAD, Room, run_all
from dev.localcluster import console
from dev.localcluster.paths import REPO

CHART_FILES = Path("charts/trimtab/files")
GENERATED = (
    Path("crds"), CHART_FILES / "crds", CHART_FILES / "dashboards", Path("docs/reference"),
)  # fmt: skip


def snapshot(folders: Sequence[Path]) -> dict[str, bytes]:
    """The content of every file below some folders."""
    files = (path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(REPO)): path.read_bytes() for path in files}


def changed(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    """Names of files that were changed, added or removed."""
    return sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))


def generated() -> int:
    """Generate the generated files again; returns 1 if that changed any."""
    folders = [REPO / folder for folder in GENERATED]
    before = snapshot(folders)
    code = subprocess.run(["make", "generate"], cwd=REPO, check=False).returncode
    stale = changed(before, snapshot(folders))
    for name in stale:
        console.warn(f"{name} was out of date and has been generated again: commit it")
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
    phases.REPORTS.mkdir(parents=True, exist_ok=True)
    required = os.environ.get("REQUIRE_E2E") == "1"
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    room = Room(os.cpu_count() or 1, memory_gib - phases.SMALL_GIB)
    results = run_all(phases.phases(memory_gib), Processes(room), required=required)
    ran = [result.phase.report for result in results if result.counts]
    console.say(f"the {report.SLOWEST} slowest tests, in seconds")
    for line in report.slowest(ran):
        console.say(line)
    # last, and whoever sees only the end of a log sees where the time went
    console.say("")
    for line in report.table(results):
        console.say(line)
    took_s = max((result.began + result.seconds for result in results), default=0.0)
    console.say(f"\n{took_s / 60:.1f} minutes in total")
    bad = [result.phase.name for result in results if result.outcome in BAD]
    if bad:
        console.say(f"gates failed at: {', '.join(bad)}")
        for line in report.failures(ran):
            console.say(f"FAILED {line}")
    console.say(str(report.total(results)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The phases of a run: what each depends on, and which resources it takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from dev.localcluster.paths import REPO

REPORTS = REPO / "build" / "gates"
PYTEST = ".venv/bin/pytest"
LOCALCLUSTER = (sys.executable, "-m", "dev.localcluster")
DOCTOR = "doctor"
SMALL_GIB = 2.0
"""Memory reserved for the phases that state none."""

DRIVER_GIB, NAMESPACE_GIB = 2.0, 4.0
"""Memory of a broker with its drivers; of a namespace with its Kafka, driver and executors."""

NAMESPACES, BROKERS = 2, 2
"""At most this many of each at a time: tests mostly wait, and two side by side fill two cores."""

E2E_CORES, KAFKA_CORES = 2.0, 1.2
"""Cores that these phases use on average. With both on two cores, brokers took two minutes to start
and batches took four times as long."""

UNIT_PROCESSES, UNIT_CORES = "2", 2.0
"""These tests only compute: beside others, at low priority, they take ten times as long."""

SPREAD = ("--dist", "loadfile", "--no-loadscope-reorder")
"""The tests of a file share a process: its broker, its namespace."""


@dataclass(frozen=True)
class Phase:
    """One command with a time limit in seconds; `tests` are the folders of a pytest run."""

    name: str
    argv: tuple[str, ...]
    limit_s: float
    tests: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    """Phases that must have passed before this one begins."""
    cores: float = 0.0
    """CPU cores that it needs on average; 0 if it makes do with what the others leave."""
    memory_gib: float = 0.0
    """Memory that it needs; 0 if its share of the reserved memory is enough."""
    needs_cluster: bool = False
    cleanup: tuple[str, ...] = ()
    """Runs if the phase had to be killed."""
    leaves_cluster: bool = False
    """Its fixture leaves a cluster running: the cleanup always runs, except with KEEP=1."""

    @property
    def report(self) -> Path:
        """Where pytest writes its counts."""
        return REPORTS / f"{self.name.replace(' ', '-')}.xml"

    def command(self) -> list[str]:
        """The whole command line."""
        if not self.tests:
            return list(self.argv)
        return [*self.argv, *self.tests, "-q", f"--junitxml={self.report}"]


def side_by_side(memory_gib: float, each_gib: float, most: int) -> int:
    """How many test processes of `each_gib` the machine's memory allows."""
    return max(1, min(most, int((memory_gib - SMALL_GIB) / each_gib)))


def phases(memory_gib: float, repo: Path = REPO) -> list[Phase]:
    """All phases; those that wait for resources start in this order."""
    ready, unit = ("generated files",), (PYTEST, "-n", UNIT_PROCESSES)
    return [
        Phase("venv", ("make", "venv"), 900, cores=1.0),
        Phase(ready[0], (sys.executable, "-m", "dev.gates", "generated"), 120, after=("venv",)),
        Phase("lint", ("make", "lint"), 300, after=ready),
        Phase("contracts", ("make", "contracts"), 300, after=ready),
        Phase("types", ("make", "types"), 900, after=ready),
        Phase("docs", ("make", "docs"), 300, after=ready),
        Phase("unit", unit, 1500, ("tests/unit", "tests/simulation"), ready, cores=UNIT_CORES),
        Phase(DOCTOR, (*LOCALCLUSTER, "doctor", "--install"), 900, after=ready),
        *(replace(each, needs_cluster=True) for each in _after_doctor(memory_gib, repo)),
    ]


def _after_doctor(memory_gib: float, repo: Path) -> Iterator[Phase]:
    """The phases that need the programs that doctor installs; some only if there are e2e tests."""
    down = (*LOCALCLUSTER, "down")
    yield Phase("tools", (*LOCALCLUSTER, "tools"), 3000, after=(DOCTOR,))
    yield Phase("images", (*LOCALCLUSTER, "images"), 3600, after=(DOCTOR,))
    built = ("tools", "images")
    yield Phase("cluster", (PYTEST,), 1200, ("tests/cluster",), built, cores=0.8, cleanup=down)
    # after the cluster phase, which would find an API server that is started while it runs; before
    # e2e, which fills the machine: there is room for it beside kafka
    yield Phase("apiserver", (PYTEST,), 1800, ("tests/apiserver",), ("cluster",), cores=0.8)
    folders = [
        f"tests/{name}" for name in ("zones", "e2e") if any((repo / "tests" / name).glob("test_*"))
    ]
    if folders:
        # the cluster phase refuses to run next to a cluster, so a later one belongs to this run
        spaces = side_by_side(memory_gib, NAMESPACE_GIB, NAMESPACES)
        yield Phase(
            "e2e", (PYTEST, "-m", "e2e", "-n", str(spaces), *SPREAD), 3900, tuple(folders),
            after=("cluster",), cores=E2E_CORES, memory_gib=spaces * NAMESPACE_GIB,
            cleanup=down, leaves_cluster=True,
        )  # fmt: skip
        yield Phase(
            "first hour", (PYTEST, "-x"), 1800, ("tests/firsthour",), ("e2e",), cores=E2E_CORES,
            memory_gib=NAMESPACE_GIB, cleanup=down, leaves_cluster=True,
        )  # fmt: skip
    brokers = side_by_side(memory_gib, DRIVER_GIB, BROKERS)
    kafka = (PYTEST, "-n", str(brokers), *SPREAD)
    size_gib = brokers * DRIVER_GIB
    yield Phase(
        "kafka", kafka, 3600, ("tests/kafka",), (DOCTOR,), cores=KAFKA_CORES, memory_gib=size_gib
    )
    yield Phase("bench", (PYTEST,), 900, ("tests/bench",), (DOCTOR,))

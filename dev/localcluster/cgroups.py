"""One cgroup per node, on cgroup v1 and v2; it also shows which processes are containers."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
PREFIX = "trimtab-n"
# The controllers that kubelet needs for limits; others of v2 stay as they are.
V2_CONTROLLERS = ("cpuset", "cpu", "io", "memory", "hugetlb", "pids")


def name(number: int) -> str:
    """Return the name of node `number`'s cgroup, relative to the root of each hierarchy."""
    return f"{PREFIX}{number}"


def is_unified(mount: Path = MOUNT) -> bool:
    """Return whether the machine has cgroup v2 only."""
    return (mount / "cgroup.controllers").exists()


def hierarchies(mount: Path = MOUNT) -> list[Path]:
    """Return the root of every mounted hierarchy: one with v2; with v1 without symbolic links."""
    if is_unified(mount):
        return [mount]
    return sorted(p for p in mount.iterdir() if p.is_dir() and not p.is_symlink())


def make(number: int) -> None:
    """Create a node's cgroup in all hierarchies, ready for children with limits."""
    if is_unified():
        have = (MOUNT / "cgroup.controllers").read_text().split()
        wanted = " ".join(f"+{c}" for c in V2_CONTROLLERS if c in have)
        (MOUNT / "cgroup.subtree_control").write_text(wanted)
        (MOUNT / name(number)).mkdir(exist_ok=True)
        (MOUNT / name(number) / "cgroup.subtree_control").write_text(wanted)
        return
    for root in hierarchies():
        if root.name == "unified":
            continue
        group = root / name(number)
        group.mkdir(exist_ok=True)
        # A new cpuset is empty, and no process can join an empty one.
        for each in ("cpuset.cpus", "cpuset.mems"):
            if (root / each).exists():
                (group / each).write_text((root / each).read_text())


def groups() -> Iterator[Path]:
    """Yield the cgroups of all nodes in all hierarchies."""
    for root in hierarchies():
        yield from sorted(root.glob(f"{PREFIX}[0-9]*"))


def members(number: int | None = None) -> set[int]:
    """Return the ids of all processes in the nodes' cgroups, or in one node's: the containers."""
    found: set[int] = set()
    for group in groups():
        if number is not None and group.name != name(number):
            continue
        for folder, _, _ in os.walk(group):  # it bears that cgroups go meanwhile
            with contextlib.suppress(OSError):
                listing = Path(folder, "cgroup.procs").read_text()
                found.update(int(line) for line in listing.split())
    return found


def remove(limit_s: float = 10) -> None:
    """Remove the nodes' cgroups, children first; they must have no processes.

    Raises:
        OSError: one is still busy after `limit_s` seconds (the kernel frees them with a delay).
    """
    end = time.monotonic() + limit_s
    for top in list(groups()):
        children = [p for p in top.rglob("*") if p.is_dir()]
        for group in [*sorted(children, key=lambda p: -len(p.parts)), top]:
            while True:
                try:
                    group.rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.05)

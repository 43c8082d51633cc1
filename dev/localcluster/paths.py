"""Where things are stored: two directories that the user can move, and nowhere else.

``TRIMTAB_CACHE`` (default ``~/.cache/trimtab``) holds what is slow to make and safe to keep:
binaries, images, jars. ``TRIMTAB_STATE`` (default ``/var/lib/trimtab-dev``) holds all state of the
running cluster; ``down`` removes all of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
GOMOD = REPO / "dev" / "gomod"
IMAGES = REPO / "images"


@dataclass(frozen=True)
class Paths:
    """Every path that the local cluster uses, derived from the two roots."""

    cache: Path
    state: Path

    @property
    def bin(self) -> Path:
        """Built tools, one file each, named by version and inputs."""
        return self.cache / "bin"

    @property
    def lock(self) -> Path:
        """Held while a command changes the cluster; outside the state, which ``down`` removes."""
        return self.cache / "cluster.lock"

    @property
    def pki(self) -> Path:
        """Certificates, keys and kubeconfigs."""
        return self.state / "pki"

    @property
    def logs(self) -> Path:
        """One log file per daemon."""
        return self.state / "logs"

    @property
    def pids(self) -> Path:
        """One file with the process id per daemon."""
        return self.state / "pids"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, the one that ``env`` prints."""
        return self.state / "kubeconfig"

    @property
    def volumes(self) -> Path:
        """Directories of the persistent volumes."""
        return self.state / "volumes"

    @property
    def registries(self) -> Path:
        """One directory per registry, with what the nodes' containerds must know of it."""
        return self.state / "registries"

    @property
    def sysctls(self) -> Path:
        """The kernel settings from before ``up``, for ``down`` to restore."""
        return self.state / "sysctls.json"

    @property
    def buildah(self) -> Path:
        """Storage of the image builder, separate from the machine's own."""
        return self.cache / "buildah"

    @property
    def layouts(self) -> Path:
        """The built images as one OCI layout, in which images share their layers."""
        return self.cache / "images" / "oci"

    @property
    def image_index(self) -> Path:
        """JSON object: image name -> latest tag."""
        return self.cache / "images" / "index.json"

    def node(self, number: int) -> Path:
        """Directory of node `number` (0 is the first)."""
        return self.state / f"n{number}"

    def containerd_socket(self, number: int) -> Path:
        """Socket of node `number`'s own containerd."""
        return self.node(number) / "containerd.sock"


def from_environment(environment: Mapping[str, str] | None = None) -> Paths:
    """Return the paths that the environment sets.

    Raises:
        ValueError: a root is relative, or too short to be safely removed.
    """
    env = os.environ if environment is None else environment
    default_cache = Path.home() / ".cache" / "trimtab"
    paths = Paths(
        cache=Path(env.get("TRIMTAB_CACHE") or default_cache),
        state=Path(env.get("TRIMTAB_STATE") or "/var/lib/trimtab-dev"),
    )
    for name, path in (("TRIMTAB_CACHE", paths.cache), ("TRIMTAB_STATE", paths.state)):
        if not path.is_absolute() or len(path.parts) < 3:
            raise ValueError(f"{name}={path}: must be absolute and at least two levels deep")
    # Unix socket paths have at most 107 bytes; containerd's are our longest.
    if len(str(paths.containerd_socket(99))) > 90:
        raise ValueError(f"TRIMTAB_STATE={paths.state}: too long for the sockets inside it")
    return paths

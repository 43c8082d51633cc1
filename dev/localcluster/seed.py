"""An image store that is filled once and that every new node starts from, without using disk space.

Importing a gigabyte takes a node half a minute. So the built images are imported once, into the
root of a containerd that runs no containers, and a new node's root is a tree of hard links to it.
Layers are never modified, so the links are safe. Only the databases are copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from dev.localcluster import daemons
from dev.localcluster.failures import LocalClusterError
from dev.localcluster.imageload import ctr, load_images
from dev.localcluster.images import read_index
from dev.localcluster.lock import exclusive
from dev.localcluster.paths import Paths
from dev.localcluster.recipes import recipe
from dev.localcluster.run import run, succeeds, wait_until

DATABASES = (
    "io.containerd.metadata.v1.bolt/meta.db",
    "io.containerd.snapshotter.v1.overlayfs/metadata.db",
)
COPY_LIMIT_S = 120


def directory(paths: Paths) -> Path:
    """Return where the seed and the containerd that fills it are kept."""
    return paths.cache / "seed"


def refresh(paths: Paths) -> None:
    """Import the built images into the seed, and remove tags that are no longer built.

    Raises:
        LocalClusterError: an import failed.
    """
    index = read_index(paths)
    tags = {tag for name, tag in index.items() if recipe(name).loaded}
    with _locked(paths), containerd(paths) as socket:
        load_images(paths, [socket])
        present = set(run(ctr(socket, "images", "ls", "-q")).split())
        for old in sorted(present - tags):
            run(ctr(socket, "images", "rm", "--sync", old), limit_s=120)


def plant(paths: Paths, root: Path) -> bool:
    """Create a node's containerd root from the seed; False if it is missing or on another disk."""
    source = directory(paths) / "root"
    if not (source / DATABASES[0]).exists() or source.stat().st_dev != paths.state.stat().st_dev:
        return False
    root.parent.mkdir(parents=True, exist_ok=True)
    with _locked(paths):
        end_leftover(paths)
        run(["cp", "--archive", "--link", source, root], limit_s=COPY_LIMIT_S)
        for name in DATABASES:
            (root / name).unlink()
            run(["cp", "--archive", source / name, root / name])
    return True


def end_leftover(paths: Paths) -> None:
    """End the containerd of a refresh that was killed; only for the holder of the lock."""
    daemons.end(daemons.find(directory(paths), ["containerd"]))


def tidy(paths: Paths) -> None:
    """End what a killed refresh left, unless a refresh is running now."""
    try:
        with exclusive(_lock_path(paths), "busy"):
            end_leftover(paths)
    except LocalClusterError:
        return


def _lock_path(paths: Paths) -> Path:
    return paths.cache / "seed.lock"


def _locked(paths: Paths) -> AbstractContextManager[None]:
    return exclusive(_lock_path(paths), "the image store is being filled", COPY_LIMIT_S)


@contextmanager
def containerd(paths: Paths) -> Iterator[Path]:
    """Run a containerd without pods on the seed; yields its socket."""
    end_leftover(paths)
    base = directory(paths)
    base.mkdir(parents=True, exist_ok=True)
    socket = base / "containerd.sock"
    config = base / "containerd.toml"
    config.write_text(
        f'version = 2\nroot = "{base}/root"\nstate = "{base}/run"\n'
        'disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]\n'
        f'[grpc]\n  address = "{socket}"\n'
    )
    (base / "containerd.log").unlink(missing_ok=True)
    daemon = daemons.start("containerd", ["containerd", "--config", config], logs=base)
    try:
        probe = ["ctr", "--address", str(socket), "--timeout", "3s", "version"]
        wait_until("containerd", lambda: succeeds(probe), limit_s=30, alive=daemon.check)
        yield socket
    finally:
        daemons.end([daemon.pid], grace_s=10)

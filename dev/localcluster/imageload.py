"""Loads built images into a node's containerd, sending only what it lacks."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dev.localcluster import console, layout
from dev.localcluster.failures import CommandError, LocalClusterError
from dev.localcluster.images import read_index
from dev.localcluster.paths import Paths
from dev.localcluster.recipes import recipe
from dev.localcluster.run import clean_environment, run

IMPORT_LIMIT_S = 300


def ctr(socket: Path, *arguments: str) -> list[str]:
    """Return the command line of containerd's client for Kubernetes' images."""
    return ["ctr", "--address", str(socket), "--namespace", "k8s.io", *arguments]


def load_images(paths: Paths, sockets: Iterable[Path], names: Iterable[str] = ()) -> list[str]:
    """Load the built images (or the named ones) into each containerd that lacks them.

    Returns the tags that they now have.

    Raises:
        LocalClusterError: a named image was not built, or an import failed.
    """
    index = read_index(paths)
    chosen = list(names) or [name for name in index if recipe(name).loaded]
    missing = [name for name in chosen if name not in index]
    if missing:
        raise LocalClusterError(f"not built: {', '.join(missing)}")
    tags = [index[name] for name in chosen]
    for socket in sockets:
        present = set(run(ctr(socket, "images", "ls", "-q")).split())
        todo = [tag for tag in tags if tag not in present]
        if todo:
            short = ", ".join(tag.rpartition("/")[2] for tag in todo)
            with console.step(f"load {short} into {socket.parent.name}", IMPORT_LIMIT_S):
                import_images(paths, socket, todo)
    return tags


def import_images(paths: Paths, socket: Path, tags: list[str]) -> None:
    """Stream an archive of some images, without the blobs that this containerd already has."""
    present = set(run(ctr(socket, "content", "ls", "-q")).split())
    manifests = layout.manifests(paths.layouts)
    command = ctr(socket, "images", "import", "-")
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=clean_environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            with tarfile.open(fileobj=process.stdin, mode="w|") as archive:
                write_archive(archive, paths.layouts, [manifests[tag] for tag in tags], present)
            process.stdin.close()
        except BrokenPipeError:
            pass  # it exited early: its output below says why
        words = process.stderr.read().decode(errors="replace")
    if process.returncode != 0:
        raise CommandError(f"import of {', '.join(tags)}: {words.strip()}")


def write_archive(
    archive: tarfile.TarFile,
    directory: Path,
    descriptors: list[dict[str, Any]],
    present: set[str],
) -> None:
    """Write an OCI archive of some images of a layout; `present` has the digests to omit.

    Manifests and configurations are always written: they are small, and the import reads them.
    """
    written: set[str] = set()
    for descriptor in descriptors:
        small, layers = layout.blobs_of(directory, descriptor)
        for digest in [*small, *(each for each in layers if each not in present)]:
            if digest not in written:
                written.add(digest)
                archive.add(layout.blob_path(directory, digest), arcname=layout.blob_name(digest))
    index = {"schemaVersion": 2, "manifests": [_named(each) for each in descriptors]}
    _add(archive, "oci-layout", {"imageLayoutVersion": "1.0.0"})
    _add(archive, "index.json", index)


def _named(descriptor: dict[str, Any]) -> dict[str, Any]:
    """Return the descriptor with the full name in the annotation that containerd reads."""
    name = descriptor["annotations"][layout.NAME]
    return {**descriptor, "annotations": {"io.containerd.image.name": name}}


def _add(archive: tarfile.TarFile, name: str, content: dict[str, Any]) -> None:
    data = json.dumps(content).encode()
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))

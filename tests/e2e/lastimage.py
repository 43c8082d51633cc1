"""The pipeline image of the last release, out of this repository's history."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
from dev.localcluster import images, layout
from dev.localcluster.cluster import sockets
from dev.localcluster.imageload import import_images
from dev.localcluster.lock import exclusive
from dev.localcluster.paths import REPO, Paths
from dev.localcluster.recipes import REGISTRY

LAST = sorted((REPO / "tests/unit/api/released").iterdir())[-1]
DOCKERFILE = Path(__file__).parent / "released/Dockerfile"
BUILD_S = 600


def last_image(paths: Paths, today: str) -> str:
    """Build the image on top of `today`'s one, load it into every node, and return its tag.

    Skips the test where the history does not reach back to the release.
    """
    commit = (LAST / "commit").read_text().strip()
    argv = ["git", "-C", str(REPO), "archive", commit, "operator/trimtab", "images/pipeline"]
    archive = subprocess.run(argv, capture_output=True, timeout=60, check=False)
    if archive.returncode:
        pytest.skip(f"the history here does not reach back to release {LAST.name}")
    made_of = hashlib.sha256(archive.stdout + DOCKERFILE.read_bytes() + today.encode())
    target = f"{REGISTRY}/pipeline-of-{LAST.name}:{made_of.hexdigest()[:12]}"
    with exclusive(paths.cache / "images.lock", "another command is building images", 1800):
        if target not in layout.manifests(paths.layouts):
            _build(paths, archive.stdout, today, target)
    for socket in sockets(paths):
        import_images(paths, socket, [target])
    return target


def _build(paths: Paths, archive: bytes, today: str, target: str) -> None:
    with tempfile.TemporaryDirectory(dir=images.work_directory(paths)) as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        images.buildah(
            paths, "bud", "--isolation", "chroot", "--layers", "--pull=never", "--format", "oci",
            "--build-context", f"released={folder}", "--build-arg", f"BASE={today}",
            "--file", DOCKERFILE, "--tag", target, folder, limit_s=BUILD_S,
        )  # fmt: skip
    images.export_image(paths, target)

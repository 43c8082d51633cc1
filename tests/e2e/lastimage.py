"""The pipeline image of the last release, out of this repository's history."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from dev.localcluster import images, layout
from dev.localcluster.cluster import sockets
from dev.localcluster.imageload import import_images
from dev.localcluster.lock import exclusive
from dev.localcluster.paths import Paths
from dev.localcluster.recipes import REGISTRY
from tests.released import LAST, archive, unpack

DOCKERFILE = Path(__file__).parent / "released/Dockerfile"
BUILD_S = 600


def last_image(paths: Paths, today: str) -> str:
    """Build the image on top of `today`'s one, load it into every node, and return its tag.

    Skips the test where the history does not reach back to the release.
    """
    archived = archive("operator/trimtab", "images/pipeline")
    made_of = hashlib.sha256(archived + DOCKERFILE.read_bytes() + today.encode())
    target = f"{REGISTRY}/pipeline-of-{LAST.name}:{made_of.hexdigest()[:12]}"
    with exclusive(paths.cache / "images.lock", "another command is building images", 1800):
        if target not in layout.manifests(paths.layouts):
            _build(paths, archived, today, target)
    for socket in sockets(paths):
        import_images(paths, socket, [target])
    return target


def _build(paths: Paths, archived: bytes, today: str, target: str) -> None:
    with tempfile.TemporaryDirectory(dir=images.work_directory(paths)) as folder:
        unpack(archived, folder)
        images.buildah(
            paths, "bud", "--isolation", "chroot", "--layers", "--pull=never", "--format", "oci",
            "--build-context", f"released={folder}", "--build-arg", f"BASE={today}",
            "--file", DOCKERFILE, "--tag", target, folder, limit_s=BUILD_S,
        )  # fmt: skip
    images.export_image(paths, target)

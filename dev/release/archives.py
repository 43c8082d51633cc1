"""The images as OCI archives, one file each, from the layout of the image builder."""

from __future__ import annotations

import tarfile
from typing import Any

from dev.localcluster import layout
from dev.localcluster.imageload import write_archive
from dev.localcluster.images import build_images
from dev.localcluster.paths import Paths
from dev.release.bill import bill
from dev.release.debian import packages
from dev.release.names import IMAGES, Release


def write_images(release: Release, paths: Paths) -> None:
    """Build the images where they have changed, and write their archives and bills."""
    index = build_images(paths, IMAGES)
    known = layout.manifests(paths.layouts)
    for name in IMAGES:
        write_image(release, paths, name, known[index[name]])


def write_image(release: Release, paths: Paths, name: str, descriptor: dict[str, Any]) -> None:
    """Write the archive and the bill of one image of the layout."""
    named = descriptor | {"annotations": {layout.NAME: f"trimtab-{name}:{release.version}"}}
    with tarfile.open(release.image(name), "w") as archive:
        write_archive(archive, paths.layouts, [named], set())
    installed = packages(paths.layouts, descriptor)
    release.bill(name).write_text(bill(release, paths, name, installed))

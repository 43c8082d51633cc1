"""An OCI image layout on disk: all built images, with each blob once."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

NAME = "org.opencontainers.image.ref.name"
# Older tags of an image that are kept, to return to an earlier source without a build.
KEEP = 3


def manifests(layout: Path) -> dict[str, dict[str, Any]]:
    """Return tag -> descriptor of all images, oldest first."""
    try:
        index = json.loads((layout / "index.json").read_text())
    except OSError:
        return {}
    return {m["annotations"][NAME]: m for m in index["manifests"]}


def blob_name(digest: str) -> str:
    """Return a blob's path inside an OCI layout."""
    return "blobs/" + digest.replace(":", "/")


def blob_path(layout: Path, digest: str) -> Path:
    """Return a blob's file in a layout on disk."""
    return layout / blob_name(digest)


def blobs_of(layout: Path, descriptor: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the digests of an image: manifest and configuration, and its layers."""
    manifest = json.loads(blob_path(layout, descriptor["digest"]).read_text())
    small = [descriptor["digest"], manifest["config"]["digest"]]
    return small, [layer["digest"] for layer in manifest["layers"]]


def add(layout: Path, tag: str, plain: Path) -> None:
    """Move an image, which buildah wrote as a directory of blobs, into the layout.

    The index is replaced last, so that everything in it is complete.
    """
    blobs = layout / "blobs" / "sha256"
    blobs.mkdir(parents=True, exist_ok=True)
    manifest = (plain / "manifest.json").read_bytes()
    for file in plain.iterdir():
        if file.name not in {"manifest.json", "version"} and not (blobs / file.name).exists():
            file.rename(blobs / file.name)
    digest = hashlib.sha256(manifest).hexdigest()
    (blobs / digest).write_bytes(manifest)
    descriptor = {
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "digest": f"sha256:{digest}",
        "size": len(manifest),
        "annotations": {NAME: tag},
    }
    known = manifests(layout)
    known.pop(tag, None)
    kept = without_old([*known, tag])
    known[tag] = descriptor
    _write_index(layout, [known[each] for each in kept])
    _remove_unused(layout, [known[each] for each in kept])


def without_old(tags: list[str]) -> list[str]:
    """Return the tags without those that have `KEEP` newer ones of the same image."""
    kept: list[str] = []
    count: dict[str, int] = {}
    for tag in reversed(tags):
        name = tag.rpartition(":")[0]
        count[name] = count.get(name, 0) + 1
        if count[name] <= KEEP:
            kept.append(tag)
    return kept[::-1]


def _write_index(layout: Path, descriptors: list[dict[str, Any]]) -> None:
    making = layout / "index.new"
    making.write_text(json.dumps({"schemaVersion": 2, "manifests": descriptors}, indent=1))
    making.rename(layout / "index.json")
    (layout / "oci-layout").write_text(json.dumps({"imageLayoutVersion": "1.0.0"}))


def _remove_unused(layout: Path, descriptors: list[dict[str, Any]]) -> None:
    """Remove the blobs that no image in the index needs."""
    used: set[str] = set()
    for descriptor in descriptors:
        small, layers = blobs_of(layout, descriptor)
        used.update(digest.rpartition(":")[2] for digest in (*small, *layers))
    for file in (layout / "blobs" / "sha256").iterdir():
        if file.name not in used:
            file.unlink()

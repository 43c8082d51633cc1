"""The Debian packages inside a built image, read from its layers."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dev.localcluster import layout

STATUS = "var/lib/dpkg/status"

Package = tuple[str, str, str]
"""Name, version, architecture."""


def packages(directory: Path, descriptor: dict[str, Any]) -> list[Package]:
    """The packages of an image in a layout, as the uppermost layer that knows them has it."""
    _, layers = layout.blobs_of(directory, descriptor)
    for digest in reversed(layers):
        with tarfile.open(layout.blob_path(directory, digest)) as layer:
            for name in (STATUS, f"./{STATUS}"):
                try:
                    file = layer.extractfile(name)
                except KeyError:
                    continue
                assert file is not None
                return sorted(installed(file.read().decode()))
    return []


def installed(status: str) -> Iterator[Package]:
    """The installed packages in a text such as dpkg keeps."""
    for stanza in status.split("\n\n"):
        lines = [line for line in stanza.splitlines() if line[:1] not in {"", " "}]
        said = dict(line.split(": ", 1) for line in lines if ": " in line)
        if said.get("Status", "").endswith(" installed"):
            yield said["Package"], said["Version"], said["Architecture"]

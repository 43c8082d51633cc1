"""Which release is made, and what its files are called. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-rc\.[1-9]\d*)?")
IMAGES = ("operator", "pipeline", "kafka", "prometheus")
"""Those that the chart takes."""


@dataclass(frozen=True, slots=True)
class Release:
    """One release: its version, the time that its files bear, and where they go."""

    version: str
    epoch: int
    """Seconds since 1970, as of SOURCE_DATE_EPOCH."""
    folder: Path
    url: str
    """Where its files will be downloaded from."""
    home: str = ""
    """The project's page, where the sources are too; empty if it has none."""

    @property
    def chart(self) -> Path:
        """The chart as Helm packs it."""
        return self.folder / f"trimtab-{self.version}.tgz"

    @property
    def chart_layout(self) -> Path:
        """The chart as an OCI layout, packed."""
        return self.folder / f"trimtab-chart-{self.version}.oci.tar"

    def plugin(self, system: str, processor: str) -> Path:
        """The kubectl plugin for a platform."""
        return self.folder / f"kubectl-trimtab-{self.version}-{system}-{processor}.tar.gz"

    def image(self, name: str) -> Path:
        """An image as an OCI archive."""
        return self.folder / f"trimtab-{name}-{self.version}.oci.tar"

    def bill(self, name: str) -> Path:
        """The bill of materials of the command line or of an image."""
        return self.folder / f"trimtab-{name}-{self.version}.cdx.json"

    @property
    def environment(self) -> dict[str, str]:
        """What makes tools write this time instead of the current one."""
        return {"SOURCE_DATE_EPOCH": str(self.epoch)}


def checked_version(version: str) -> str:
    """The version.

    Raises:
        ValueError: it is none, says how to write one.
    """
    if not _VERSION.fullmatch(version):
        raise ValueError(f"VERSION={version!r}: write it like 1.2.3 or 1.2.3-rc.1")
    return version


def with_version(pyproject: str, version: str) -> str:
    """A pyproject.toml with another version of the project.

    Raises:
        ValueError: the project states no version, or more than one.
    """
    changed, count = re.subn(r'(?m)^version = ".*"$', f'version = "{version}"', pyproject)
    if count != 1:
        raise ValueError(f"pyproject.toml has {count} lines with a version")
    return changed


def sums(digests: Mapping[str, str]) -> str:
    """What `sha256sum --check` reads, by file name."""
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))

"""The jars of a profile of images/pom.xml, with their coordinates and checksums."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dev.localcluster.jars import POM, ensure_jars
from dev.localcluster.paths import Paths
from dev.localcluster.run import run
from dev.release.files import sha256

_LINE = re.compile(
    r"\s+([\w.-]+):([\w.-]+):jar:(?:([\w.-]+):)?([\w.-]+):(?:compile|runtime)(?:\s.*)?"
)

Jar = tuple[str, str, str, str]
"""Group, artefact, version, SHA-256."""


def jars(paths: Paths, profile: str) -> Iterator[Jar]:
    """The jars of a profile.

    Raises:
        CommandError: Maven could not tell.
        FileNotFoundError: it tells of a jar that it did not copy.
    """
    folder = ensure_jars(paths, profile)
    with tempfile.TemporaryDirectory() as work:
        listed = Path(work) / "list.txt"
        goal = ["dependency:list", f"-DoutputFile={listed}"]
        run(["mvn", "-q", "-B", "-f", POM, "-P", profile, *goal], limit_s=600)
        for group, artefact, version, file in coordinates(listed.read_text()):
            yield group, artefact, version, sha256(folder / file)


def coordinates(listed: str) -> Iterator[tuple[str, str, str, str]]:
    """Group, artefact, version and file name of each line of `dependency:list`."""
    for line in listed.splitlines():
        if found := _LINE.fullmatch(line):
            group, artefact, classifier, version = found.groups()
            suffix = f"-{classifier}" if classifier else ""
            yield group, artefact, version, f"{artefact}-{version}{suffix}.jar"

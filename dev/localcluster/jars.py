"""What Maven fetches or builds into the cache, again only when its sources change."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from dev.localcluster import console
from dev.localcluster.lock import exclusive
from dev.localcluster.paths import IMAGES, Paths
from dev.localcluster.run import run

POM = IMAGES / "pom.xml"
LIMIT_S = 600


def ensure_jars(paths: Paths, profile: str) -> Path:
    """Return the directory with the jars of a profile of the pom (``kafka`` or ``spark``).

    Raises:
        CommandError: Maven could not fetch them.
    """

    def fetch(making: Path) -> None:
        copy_jars(POM, making, "-P", profile)

    return made_once(cached(paths, profile, [POM]), f"jars of profile {profile}", fetch)


def copy_jars(pom: Path, directory: Path, *options: str) -> None:
    """Have Maven copy the dependencies of a pom into a directory, which need not exist yet.

    Raises:
        CommandError: Maven could not fetch them.
    """
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={directory}"]
    run(["mvn", "-q", "-B", "-f", pom, *options, *goal], limit_s=LIMIT_S)


def cached(paths: Paths, name: str, sources: Iterable[Path]) -> Path:
    """Return where the result of some sources is kept; the path changes with their content."""
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.read_bytes())
    return paths.cache / "jars" / f"{name}-{digest.hexdigest()[:12]}"


def made_once(target: Path, what: str, make: Callable[[Path], None]) -> Path:
    """Return the directory `target`, created if missing; an incomplete one is never used.

    `make` gets a temporary directory to fill. Other commands that need it wait meanwhile.

    Raises:
        CommandError: `make` failed.
    """
    if target.exists():
        return target
    making = target.with_name(f"{target.name}.{os.getpid()}")
    lock = target.with_name(f".{target.name}.lock")
    with exclusive(lock, f"another command is making {what}", LIMIT_S):
        if target.exists():
            return target
        shutil.rmtree(making, ignore_errors=True)
        with console.step(what, LIMIT_S):
            make(making)
            making.rename(target)
    return target

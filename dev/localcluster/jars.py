"""What Maven fetches or builds, once for each content of its sources, into the cache."""

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
    """Have Maven copy what a pom depends on into a directory, which need not be there yet.

    Raises:
        CommandError: Maven could not fetch it.
    """
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={directory}"]
    run(["mvn", "-q", "-B", "-f", pom, *options, *goal], limit_s=LIMIT_S)


def cached(paths: Paths, name: str, sources: Iterable[Path]) -> Path:
    """Return where the result of some sources is kept; another content has another place."""
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.read_bytes())
    return paths.cache / "jars" / f"{name}-{digest.hexdigest()[:12]}"


def made_once(target: Path, what: str, make: Callable[[Path], None]) -> Path:
    """Return the directory `target`, made if it is not there; a half-made one is never used.

    `make` is given the directory to fill instead. Others that want it meanwhile wait.

    Raises:
        CommandError: `make` failed.
    """
    if target.exists():
        return target
    making = target.with_name(f"{target.name}.{os.getpid()}")
    lock = target.with_name(f".{target.name}.lock")
    with exclusive(lock, f"another command makes {what}", LIMIT_S):
        if target.exists():
            return target
        shutil.rmtree(making, ignore_errors=True)
        with console.step(what, LIMIT_S):
            make(making)
            making.rename(target)
    return target

"""The JVM artefacts of ``images/pom.xml``, copied by Maven once for each content of it."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from dev.localcluster import console
from dev.localcluster.paths import IMAGES, Paths
from dev.localcluster.run import run

POM = IMAGES / "pom.xml"


def ensure_jars(paths: Paths, profile: str) -> Path:
    """Return the directory with the jars of a profile of the pom (``kafka`` or ``spark``).

    Raises:
        CommandError: Maven could not fetch them.
    """
    digest = hashlib.sha256(POM.read_bytes()).hexdigest()[:12]
    target = paths.cache / "jars" / f"{profile}-{digest}"
    if target.exists():
        return target
    making = target.with_name(f"{target.name}.{os.getpid()}")
    shutil.rmtree(making, ignore_errors=True)
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={making}"]
    with console.step(f"jars of profile {profile}", 600):
        run(["mvn", "-q", "-B", "-f", POM, "-P", profile, *goal], limit_s=600)
        making.rename(target)
    return target

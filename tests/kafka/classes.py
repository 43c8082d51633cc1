"""The archive of classes that the drivers under test start from, as those of the image do.

Made once by a driver that does what most of them do, and kept in the user's cache.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyspark
from dev.kafka import jars
from dev.localcluster.jars import made_once
from dev.localcluster.paths import from_environment
from dev.localcluster.versions import content_hash

DUMP_LIMIT_S = 180


@cache
def class_path() -> str:
    """The connector and Spark's own jars, one by one: an archive holds for one order."""
    own = (Path(pyspark.__file__).parent / "jars").glob("*.jar")
    return os.pathsep.join(str(jar) for jar in [*sorted(jars("spark").glob("*.jar")), *sorted(own)])


@cache
def archive() -> Path:
    """Where the archive is; a JVM starts without it where it is not there or does not fit."""
    java = Path(shutil.which("java") or "java").resolve().parent.parent / "release"
    files = [Path(name) for name in class_path().split(os.pathsep)]
    known = "".join(f"{file} {file.stat().st_mtime_ns}\n" for file in files)
    key = content_hash([known.encode(), java.read_bytes() if java.exists() else b""])
    home = content_hash([str(Path(pyspark.__file__).parent).encode()])
    return from_environment().cache / "jars" / f"classes-{home}-{key}" / "driver.jsa"


def ensure_archive(train: Callable[[Path], None]) -> None:
    """Make the archive if it is not there; `train` runs a driver that lists what it loads.

    Raises:
        CalledProcessError: the JVM could not dump it.
    """

    def make(directory: Path) -> None:
        older = archive().parent.name.rpartition("-")[0] + "-*"
        for old in directory.parent.glob(older):
            shutil.rmtree(old, ignore_errors=True)
        directory.mkdir(parents=True)
        listed = directory / "classes.lst"
        train(listed)
        command = ["java", "-Xshare:dump", "-Xlog:disable", "-Xlog:gc+verify=off"]
        command += [f"-XX:SharedClassListFile={listed}", "-cp", class_path()]
        command.append(f"-XX:SharedArchiveFile={directory / archive().name}")
        subprocess.run(command, check=True, capture_output=True, timeout=DUMP_LIMIT_S)

    made_once(archive().parent, "the archive of a driver's classes", make)

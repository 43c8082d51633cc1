"""`check` in an image: whether a pipeline can run from it, and what to change if not.

    docker run --rm my-image check [module:function ...]

It looks at what an image built `FROM trimtab-pipeline` can spoil (docs/images.md). Modules that are
named are imported, as the driver would.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from trimtab.errors import TransformError
from trimtab.job.pins import PINS, pinned
from trimtab.job.query.transform import load_function

SPARK_HOME = Path("/opt/spark")
CLASS_PATH = SPARK_HOME / "classpath"
"""The jars of trimtab's image, Spark's among them, as it was built."""
ENTRY_POINT = Path("/opt/entrypoint.sh")
WRITABLE = (Path("/tmp"), Path("/opt/work"))  # noqa: S108 -- where pods mount scratch space
PROGRAMS = ("java", "python", "tini")
VARIABLES = {"SPARK_HOME": str(SPARK_HOME), "PYSPARK_PYTHON": "/opt/trimtab/bin/python"}
_JAR = re.compile(r"^(?P<name>.+?)-(?P<version>\d[\w.-]*)\.jar$")


@dataclass(frozen=True, slots=True)
class Facts:
    """What an image has."""

    user: int
    variables: Mapping[str, str]
    programs: Mapping[str, bool]
    packages: Mapping[str, tuple[str | None, str]]
    """By package: the version that is there, None without it, and the one that is needed."""
    jars: Sequence[str]
    needed_jars: Sequence[str]
    entry_point: bool
    unwritable: Sequence[str]
    modules: Mapping[str, str]
    """Why a module that was named does not load; empty: it does."""


def faults(facts: Facts) -> list[str]:
    """What is wrong, in sentences that say what to do; empty: the image fits."""
    found = []
    if facts.user == 0:
        found.append("it runs as root: end the Dockerfile with USER 10001:10001")
    if not facts.entry_point:
        found.append(f"{ENTRY_POINT} is gone: leave it, and the ENTRYPOINT, as they are")
    for name, value in VARIABLES.items():
        if facts.variables.get(name) != value:
            found.append(f"{name} is {facts.variables.get(name)!r}: leave it at {value}")
    found += [f"{name} is not on the PATH" for name, there in facts.programs.items() if not there]
    for name, (there, needed) in facts.packages.items():
        if there != needed:
            found.append(
                f"the package {name} is {there or 'missing'}, not {needed}: install yours with"
                " `--constraint`, so that they change none of trimtab's"
            )
    missing = sorted(set(facts.needed_jars) - set(facts.jars))
    found += [f"the jar {jar} is gone from {SPARK_HOME}/jars: put it back" for jar in missing]
    found += [
        f"{jar} is a second version of {needed}: leave it out"
        for needed, jar in _twice(facts.needed_jars, facts.jars)
    ]
    found += [f"{place} cannot be written to" for place in facts.unwritable]
    found += [f"{name}: {why}" for name, why in facts.modules.items() if why]
    return found


def _twice(needed: Iterable[str], jars: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Jars of trimtab's image, each with another version of it."""
    ours = {_library(jar): jar for jar in needed}
    for jar in sorted(set(jars) - set(needed)):
        if (library := _library(jar)) in ours:
            yield ours[library], jar


def _library(jar: str) -> str:
    match = _JAR.match(jar)
    return match["name"] if match else jar


def listed(class_path: str) -> list[str]:
    """The names of the jars of a class path."""
    return [Path(jar).name for jar in class_path.strip().split(":")]


def gather(modules: Sequence[str]) -> Facts:
    """The facts of the image that this runs in."""
    return Facts(
        user=os.getuid(),
        variables=os.environ,
        programs={name: shutil.which(name) is not None for name in PROGRAMS},
        packages={name: (_version(name), needs) for name, needs in pinned(PINS).items()},
        jars=[file.name for file in (SPARK_HOME / "jars").glob("*.jar")],
        needed_jars=listed(CLASS_PATH.read_text()),
        entry_point=os.access(ENTRY_POINT, os.X_OK),
        unwritable=[str(place) for place in WRITABLE if not os.access(place, os.W_OK)],
        modules={name: _why_not(name) for name in modules},
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _why_not(module: str) -> str:
    try:
        load_function(module)
    except TransformError as error:
        return str(error)
    return ""


def main(modules: Sequence[str]) -> int:
    """Print each fault; returns the exit code."""
    found = faults(gather(modules))
    for fault in found:
        sys.stdout.write(f"{fault}\n")
    sys.stdout.write("the image does not fit\n" if found else "the image fits\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

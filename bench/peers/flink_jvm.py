"""The Flink autoscaler's own engine in a separate JVM: built once, queried line by line.

The glue and the pinned artefacts are in `bench/flink`. The build is kept in the cache of the dev
tools under the hash of these sources. One JVM serves one run after another; it reads its standard
input, and exits at its end, so it always ends with this process.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dev.localcluster.failures import CommandError
from dev.localcluster.jars import cached, copy_jars, made_once
from dev.localcluster.paths import REPO, from_environment
from dev.localcluster.run import run

from trimtab.errors import UnavailableError

POM = REPO / "bench" / "flink" / "pom.xml"
GLUE = sorted((POM.parent / "src").rglob("*.java"))
MAIN = "org.apache.flink.autoscaler.JsonLines"
JVM = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
COMPILE_S = 120.0
STOP_S = 10.0


@dataclass(frozen=True, slots=True)
class Seen:
    """A tick's view of the job: one source vertex. Times in ms; `partitions` 0 means unknown."""

    now_ms: int
    running_since_ms: int
    parallelism: int
    max_parallelism: int
    partitions: int
    records_in: float
    """Counted since the job began."""
    records_in_per_s: float
    busy_ms_per_s: float
    pending_records: float


def build() -> Path:
    """The directory with the glue's classes and the engine's jars, built if missing.

    Raises:
        UnavailableError: a tool is missing, the cache is unusable, or the build failed.
    """
    try:
        target = cached(from_environment(), "flink", [POM, *GLUE])
    except ValueError as error:
        raise UnavailableError(str(error)) from error
    tools = ("java",) if target.exists() else ("java", "mvn")
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        raise UnavailableError(f"no {' and no '.join(missing)} on PATH")
    try:
        return made_once(target, "the engine of the Flink autoscaler", _make)
    except CommandError as error:
        raise UnavailableError(f"the engine cannot be built: {error}") from error


def _make(directory: Path) -> None:
    jars = directory / "jars"
    copy_jars(POM, jars)
    compiler = ["java", "-jar", str(next(jars.glob("ecj-*.jar"))), "-17", "-proc:none"]
    where: list[str | Path] = ["-cp", _joined(class_path(directory)), "-d", directory / "classes"]
    run([*compiler, *where, *GLUE], limit_s=COMPILE_S)


def class_path(built: Path) -> list[Path]:
    """Our classes and all jars, the autoscaler's first: it has newer versions of Flink classes."""
    jars = sorted((built / "jars").glob("*.jar"))
    return [built / "classes", *sorted(jars, key=lambda jar: "flink-autoscaler" not in jar.name)]


def _joined(paths: Iterable[Path]) -> str:
    return os.pathsep.join(str(path) for path in paths)


class Engine:
    """One JVM, with one job at a time."""

    def __init__(self, built: Path) -> None:
        self.job = 0
        self.process = subprocess.Popen(
            [*JVM, "-cp", _joined(class_path(built)), MAIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, options: Mapping[str, str]) -> int:
        """Forget the previous job and start a new one; returns its number.

        `options` have Flink's own names and syntax.

        Raises:
            UnavailableError: an option is invalid, or the JVM has exited.
        """
        self._ask({"options": dict(options)})
        self.job += 1
        return self.job

    def scale(self, job: int, seen: Seen) -> int:
        """The desired parallelism after seeing this.

        Raises:
            UnavailableError: the engine reports an error, or the JVM has exited.
        """
        if job != self.job:
            raise UnavailableError("the Flink engine has started another job since")
        return int(self._ask(asdict(seen))["parallelism"])

    def close(self) -> None:
        """End the JVM; does nothing if it has already exited."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.communicate(timeout=STOP_S)

    def _ask(self, question: Mapping[str, object]) -> dict[str, Any]:
        source, sink = self.process.stdout, self.process.stdin
        assert source is not None
        assert sink is not None
        try:
            sink.write(json.dumps(question) + "\n")
            sink.flush()
            line = source.readline()
        except (OSError, ValueError) as error:
            raise UnavailableError(f"the JVM of the Flink engine: {error}") from error
        if not line:
            raise UnavailableError(
                f"the JVM of the Flink engine exited: {self.process.wait(STOP_S)}"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise UnavailableError(f"the Flink engine: {answer['error']}")
        return answer


@cache
def shared() -> Engine:
    """The one engine of this process, started on first use.

    Raises:
        UnavailableError: it cannot be built here.
    """
    engine = Engine(build())
    atexit.register(engine.close)
    return engine

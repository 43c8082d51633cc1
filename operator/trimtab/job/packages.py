"""`python -m trimtab.job.packages`: install a pipeline's Python packages before a pod starts.

An init container of driver and executors runs it. pip reads from its variables and from its
configuration which index and which proxy it uses; both may hold logins, so no address is repeated
with one.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from trimtab.api.packages import (
    PACKAGES_DIRECTORY,
    REQUIREMENTS_DIRECTORY,
    REQUIREMENTS_FILE,
    digest,
)
from trimtab.job import termination
from trimtab.job.definition import TERMINATION_LOG
from trimtab.job.pins import PINS, pinned
from trimtab.job.termination import ExitCode, JobFailureError, Reason

STAMP = ".trimtab-sha256"
"""Written last: the digest of the file whose packages are all there."""
OPTIONS = (
    "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--progress-bar", "off",
    "--require-hashes", "--only-binary", ":all:", "--no-deps",
)  # fmt: skip
"""Nothing is built, so nothing of a package runs before its hash is known, and nothing comes that
the file does not name; `pip check` says afterwards what it left out."""

LONGEST = 300
"""Characters of one line of pip in a message: some list all versions of a package."""
_ERROR, _WARNING = "ERROR: ", "WARNING: "
_LOGIN = re.compile(r"(?<=://)\S+@")
"""As it stands in an address that pip cannot read, and so repeats as it is."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the file is, where the packages go, and what the image was built with."""

    requirements: Path = Path(REQUIREMENTS_DIRECTORY, REQUIREMENTS_FILE)
    packages: Path = Path(PACKAGES_DIRECTORY)
    pins: Path = PINS


def install(sha256: str, places: Places) -> None:
    """Install the packages that the file names, unless they are there already.

    Raises:
        JobFailureError: the file is missing or another one, or pip failed; has pip's words.
    """
    _require_file(sha256, places.requirements)
    stamp = places.packages / STAMP
    if stamp.exists() and stamp.read_text() == sha256:
        return
    _clear(places.packages)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        versions = pinned(places.pins).items()
        constraints.write("".join(f"{name}=={version}\n" for name, version in versions))
        constraints.flush()
        _pip(
            "install", *OPTIONS, "--constraint", constraints.name,
            "--target", str(places.packages), "--requirement", str(places.requirements),
        )  # fmt: skip
    _require_complete(places.packages)
    stamp.write_text(sha256)


def _require_file(sha256: str, file: Path) -> None:
    config = os.environ.get("PIP_CONFIG_FILE")
    if config and not Path(config).exists():
        raise _failure(
            f"the Secret of the package index has no key {Path(config).name}, or is not in this"
            " namespace: create it; python.secretName in the chart's values has its name"
        )
    try:
        found = digest(file.read_bytes())
    except OSError:
        raise _failure(
            "the ConfigMap of transform.python.requirements, or its key, is gone: create it"
        ) from None
    if found != sha256:
        raise _failure(
            "the file of requirements is another one than the operator has checked: this is tried"
            " again, and the driver restarts with the new one"
        )


def _clear(folder: Path) -> None:
    """Remove what an installation that ended midway has left."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _require_complete(packages: Path) -> None:
    """Raise if a package needs one that neither the file nor the image has."""
    ours = {_normal(found.name) for found in distributions(path=[str(packages)])}
    code, lines = _run_pip("check", PYTHONPATH=str(packages))
    faults = [line for line in lines if _normal(line.split(" ")[0]) in ours] if code else []
    if faults:
        raise _failure(f"the file of requirements is not complete: {'; '.join(faults)}")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _pip(*arguments: str) -> None:
    code, lines = _run_pip(*arguments)
    if code:
        raise _failure(f"pip: {_last_words(lines)}")


def _run_pip(*arguments: str, **env: str) -> tuple[int, list[str]]:
    """pip's exit code and what it said, which goes to the log too."""
    command, lines = [sys.executable, "-m", "pip", *arguments], []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=os.environ | env,
    ) as pip:  # fmt: skip
        for line in pip.stdout or ():
            lines.append(_LOGIN.sub("****@", line.strip()))
            sys.stdout.write(f"{lines[-1]}\n")
            sys.stdout.flush()
    return pip.returncode, lines


def _last_words(lines: Sequence[str]) -> str:
    """pip's errors, with all that belongs to them, and the warning before them that says why."""
    said = [line if len(line) <= LONGEST else f"{line[:LONGEST]}…" for line in lines if line]
    first = next((n for n, line in enumerate(said) if line.startswith(_ERROR)), None)
    if first is None:
        return said[-1] if said else "it said nothing"
    warnings = [line.removeprefix(_WARNING) for line in said[:first] if line.startswith(_WARNING)]
    words = " ".join(line.removeprefix(_ERROR) for line in said[first:])
    return f"{words} ({warnings[-1]})" if warnings else words


def _failure(words: str) -> JobFailureError:
    return JobFailureError(Reason.PACKAGES_NOT_INSTALLED, words, heals=True)


def main(arguments: Sequence[str]) -> int:
    """Install; returns the exit code, and says in the termination log why it failed."""
    parser = argparse.ArgumentParser(prog="python -m trimtab.job.packages", description=__doc__)
    parser.add_argument("--sha256", required=True, help="of the file of requirements")
    usual = Places()
    parser.add_argument("--requirements", type=Path, default=usual.requirements)
    parser.add_argument("--packages", type=Path, default=usual.packages)
    parser.add_argument("--pins", type=Path, default=usual.pins)
    parser.add_argument("--termination-log", type=Path, default=Path(TERMINATION_LOG))
    known = parser.parse_args(arguments)
    try:
        install(known.sha256, Places(known.requirements, known.packages, known.pins))
    except JobFailureError as error:
        sys.stderr.write(f"{error}\n")
        termination.write(known.termination_log, error)
        return ExitCode.FAILED
    return ExitCode.CLEAN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The last release, as this repository's history has it."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest
from dev.localcluster.paths import REPO

LAST = sorted((REPO / "tests/unit/api/released").iterdir())[-1]
"""Its CRDs and keys, and the commit that it was made of."""


def archive(*parts: str) -> bytes:
    """Some of its files and folders, as a tar archive.

    Skips the test where the history does not reach back to it.
    """
    commit = (LAST / "commit").read_text().strip()
    argv = ["git", "-C", str(REPO), "archive", commit, *parts]
    done = subprocess.run(argv, capture_output=True, timeout=60, check=False)
    if done.returncode:
        pytest.skip(f"the history here does not reach back to release {LAST.name}")
    return done.stdout


def unpack(archived: bytes, folder: Path | str) -> None:
    """Write the files of an archive into a folder."""
    with tarfile.open(fileobj=io.BytesIO(archived)) as files:
        files.extractall(folder, filter="data")

"""The commit that a measurement belongs to."""

from __future__ import annotations

import subprocess

from dev.localcluster.paths import REPO


def head() -> str:
    """The short hash of the commit that is checked out."""
    return _git("rev-parse", "--short", "HEAD")


def changed(*folders: str) -> bool:
    """Whether files in these folders differ from that commit."""
    return bool(_git("status", "--porcelain", "--", *folders))


def _git(*words: str) -> str:
    command = ["git", "-C", str(REPO), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

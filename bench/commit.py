"""The commit that a measurement belongs to."""

from __future__ import annotations

import subprocess

from dev.localcluster.paths import REPO


def head() -> str:
    """The short hash of the commit that is checked out."""
    command = ["git", "-C", str(REPO), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

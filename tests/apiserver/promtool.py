"""The real promtool."""

from __future__ import annotations

import subprocess
from pathlib import Path

from dev.localcluster.binaries import binary
from dev.localcluster.paths import from_environment


def promtool(*arguments: str | Path, given: bytes = b"") -> subprocess.CompletedProcess[str]:
    """What it says of some files, or of what it is given."""
    done = subprocess.run(
        [binary(from_environment(), "promtool"), *arguments],
        input=given, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    out, err = done.stdout.decode(), done.stderr.decode()
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)

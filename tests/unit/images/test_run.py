"""How a broker starts; a stand-in takes the place of Kafka."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

IMAGE = Path(__file__).parents[3] / "images/kafka"


def start(directory: Path, free_kib: int) -> str:
    """Start on a volume with so much room; returns the termination log."""
    tools, data = directory / "bin", directory / "data"
    tools.mkdir()
    data.mkdir()
    table = f"Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/x 9 9 {free_kib} 9% /"
    for name, script in (("kafka", "exit 0"), ("df", f"echo '{table}'")):
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    config, log = directory / "server.properties", directory / "said"
    config.write_text(f"node.id=0\nlog.dirs={data}\n")
    environment = {"PATH": f"{tools}:{os.environ['PATH']}", "TERMINATION_LOG": str(log)}
    subprocess.run(["sh", IMAGE / "run", config], env=environment, check=True, timeout=30)
    return log.read_text() if log.exists() else ""


@pytest.mark.parametrize(
    ("free_kib", "said"),
    [(0, "DiskFull: 0 KiB are free on the volume\n"), (1 << 20, "")],
)
def test_a_broker_that_starts_on_a_full_volume_says_so(
    tmp_path: Path, free_kib: int, said: str
) -> None:
    assert start(tmp_path, free_kib) == said

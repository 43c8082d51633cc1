"""A real Prometheus for a test."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dev.localcluster.binaries import binary
from dev.localcluster.controlplane import free_ports
from dev.localcluster.paths import from_environment


@contextmanager
def serving(folder: Path, config: dict[str, Any], *options: str) -> Iterator[str]:
    """Its address, while it runs with that configuration and keeps its data in the folder."""
    (folder / "prometheus.yml").write_text(json.dumps(config))
    (port,) = free_ports(1)
    server = subprocess.Popen(
        [
            binary(from_environment(), "prometheus"), f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}",
            *options,
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)

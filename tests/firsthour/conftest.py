"""The reader's place: a checkout to write into, a cluster of one node, a registry, a command line.

The nodes have no image of trimtab: whatever runs there has been pulled from the registry.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from dev.gates.phases import REPORTS
from dev.localcluster import cluster, registry
from dev.localcluster.binaries import binary, ensure_tools
from dev.localcluster.failures import TimeoutWaitingError
from dev.localcluster.paths import REPO, Paths, from_environment
from dev.localcluster.run import run

TRANSCRIPT = REPORTS / "first-hour.txt"
"""All commands with what they printed."""
LIMIT_S = 1500.0
"""Of one block: the page's own waits end before it."""


@dataclass(frozen=True)
class Reader:
    """Whoever follows the page."""

    folder: Path
    environment: dict[str, str]

    def bash(self, script: str) -> tuple[int, str]:
        """The exit code of a script and what it prints; what it leaves running is ended."""
        output = self.folder / "output.txt"
        with output.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
            )  # fmt: skip
            try:
                code = process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                raise TimeoutWaitingError(f"not done in {LIMIT_S:.0f} s: {script}") from None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        printed = output.read_text(errors="replace")
        with TRANSCRIPT.open("a") as log:
            log.write(f"$ {script}{printed}\n")
        return code, printed


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """A reader with a fresh cluster; left running, `make cluster-down` ends it."""
    TRANSCRIPT.parent.mkdir(parents=True, exist_ok=True)
    TRANSCRIPT.unlink(missing_ok=True)
    paths = from_environment()
    ensure_tools(paths)
    cluster.up(paths, 1, seeded=False)
    home = tmp_path_factory.mktemp("reader")
    run([sys.executable, "-m", "venv", home / "python"], limit_s=120)
    return Reader(checkout(home / "trimtab"), environment(paths, home / "python" / "bin"))


def checkout(folder: Path) -> Path:
    """The repository as it is, in a folder that takes the files of the page."""
    folder.mkdir()
    for entry in REPO.iterdir():
        (folder / entry.name).symlink_to(entry)
    return folder


def environment(paths: Paths, programs: Path) -> dict[str, str]:
    """The reader's tools first on the path, the cluster, and trust in the registry."""
    tools = [programs, *(binary(paths, name).parent for name in ("kubectl", "helm"))]
    return os.environ | {
        "PATH": os.pathsep.join([*map(str, tools), os.environ["PATH"]]),
        "KUBECONFIG": str(paths.kubeconfig),
        "SSL_CERT_FILE": str(registry.trusted(paths)),
    }

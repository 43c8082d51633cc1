from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from bench.peers.flink_jvm import Engine, build


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """The engine in a JVM; a machine without the tools skips, a build that fails does not."""
    missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"no {' and no '.join(missing)} on PATH")
    running = Engine(build())
    yield running
    running.close()

"""The machine that tests share when they run side by side, and that a few need to themselves."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pytest


@contextmanager
def held(lock: IO[str], test: pytest.FixtureRequest) -> Iterator[None]:
    """Hold the lock while a test runs: shared, or exclusively if it is marked `alone`."""
    alone = test.node.get_closest_marker("alone") is not None
    fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
    try:
        yield
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)

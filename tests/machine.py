"""The machine that tests share when they run side by side, and that a few need to themselves."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

import pytest


def sort(tests: list[pytest.Item], files: Sequence[str]) -> None:
    """Sort tests by file: files not listed first, then `files`, at last what must run alone."""
    places = {f"test_{name}": place for place, name in enumerate(files)}
    tests.sort(key=lambda test: (alone(test), places.get(test.path.stem, -1)))


def alone(test: pytest.Item) -> bool:
    """Whether a test must have the machine to itself."""
    return test.get_closest_marker("alone") is not None


@contextmanager
def held(lock: IO[str], test: pytest.Item) -> Iterator[None]:
    """Hold the lock while a test runs: exclusively if it must run alone, otherwise shared."""
    fcntl.flock(lock, fcntl.LOCK_EX if alone(test) else fcntl.LOCK_SH)
    try:
        yield
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)

"""Locks between commands; the kernel releases them when their holder exits, even by a crash."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dev.localcluster.failures import LocalClusterError


@contextmanager
def exclusive(path: Path, busy: str, patience_s: float = 0) -> Iterator[None]:
    """Hold a lock file, waiting up to `patience_s` seconds for it.

    Raises:
        LocalClusterError: another command holds it; the message is `busy`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + patience_s
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise LocalClusterError(busy) from None
                time.sleep(0.2)
        yield

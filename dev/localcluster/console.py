"""The only place that writes to the terminal: one line per step, with its time and limit."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


def say(line: str) -> None:
    """Write one line of a command's result to standard output."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def warn(line: str) -> None:
    """Write one warning to standard error."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


@contextmanager
def step(title: str, limit_s: float | None = None) -> Iterator[None]:
    """Announce a step, and end its line with the seconds that it took.

    `limit_s` is only shown; the code inside enforces it. The end gets a line of its own if standard
    error is not a terminal or something else was written in between.
    """
    allowed = f" (at most {limit_s:.0f} s)" if limit_s else ""
    sys.stderr.write(f"... {title}{allowed}\n")
    sys.stderr.flush()
    start = time.monotonic()
    try:
        yield
    except BaseException:
        sys.stderr.write(f"ERR {title} after {time.monotonic() - start:.1f} s\n")
        sys.stderr.flush()
        raise
    sys.stderr.write(f"ok  {title} {time.monotonic() - start:.1f} s\n")
    sys.stderr.flush()

"""Runs commands to completion, and waits for conditions; all with a time limit."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dev.localcluster.failures import CommandError, TimeoutWaitingError

# Variables that would let the machine's own cluster, client or runtime leak into ours.
AMBIENT = ("KUBECONFIG", "CONTAINERD_NAMESPACE", "CONTAINERD_ADDRESS", "CNI_PATH", "ETCDCTL_API")


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return our environment without variables that name another cluster, plus `extra`."""
    env = {k: v for k, v in os.environ.items() if k not in AMBIENT}
    env.update(extra or {})
    return env


def run(
    argv: Sequence[str | Path],
    *,
    limit_s: float = 60,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str | None = None,
    log: Path | None = None,
) -> str:
    """Run a command and return its standard output.

    With `log`, both outputs are appended to that file instead and the result is empty.

    Raises:
        CommandError: a non-zero exit code, or longer than `limit_s` seconds; has the last lines.
    """
    args = [str(a) for a in argv]
    shown = shlex.join(args[:8]) + (" ..." if len(args) > 8 else "")
    try:
        done = subprocess.run(
            args,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            env=clean_environment(env),
            cwd=cwd,
            input=stdin if stdin is not None else "",
        )
    except subprocess.TimeoutExpired:
        raise CommandError(f"{shown}: not done after {limit_s:.0f} s") from None
    except OSError as error:
        raise CommandError(f"{shown}: {error}") from None
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as out:
            out.write(f"$ {shlex.join(args)}\n{done.stdout}{done.stderr}\n")
    if done.returncode != 0:
        last = "\n".join((done.stderr or done.stdout).strip().splitlines()[-12:])
        raise CommandError(f"{shown}: code {done.returncode}\n{last}")
    return done.stdout


def succeeds(argv: Sequence[str | Path], *, limit_s: float = 30) -> bool:
    """Return whether a command exits with 0 within `limit_s` seconds."""
    try:
        run(argv, limit_s=limit_s)
    except CommandError:
        return False
    return True


def wait_until(
    what: str,
    probe: Callable[[], bool],
    *,
    limit_s: float,
    every_s: float = 0.1,
    alive: Callable[[], None] | None = None,
) -> None:
    """Wait until `probe` returns true.

    `alive` is called each time and raises if waiting has become pointless.

    Raises:
        TimeoutWaitingError: not true after `limit_s` seconds.
    """
    end = time.monotonic() + limit_s
    while not probe():
        if alive is not None:
            alive()
        if time.monotonic() > end:
            raise TimeoutWaitingError(f"{what}: timed out after {limit_s:.0f} s")
        time.sleep(every_s)


def tail(path: Path, lines: int = 15) -> str:
    """Return the last lines of a log, or a note that there is none."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return f"({path}: no log)"
    return "\n".join(text.splitlines()[-lines:])

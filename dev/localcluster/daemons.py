"""Starts, watches and ends the long-running processes of the cluster."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dev.localcluster import console
from dev.localcluster.failures import DaemonError
from dev.localcluster.run import clean_environment, tail

_outliving: list[subprocess.Popen[bytes]] = []
"""Every process started here. They outlive us on purpose, and Popen warns about a child that still
runs when its last reference goes."""


@dataclass
class Daemon:
    """A process that we started, with the log that says why it exited if it does."""

    name: str
    log: Path
    process: subprocess.Popen[bytes]
    launch: Callable[[], subprocess.Popen[bytes]]
    restarts: int
    """How often it is started again if it exits while it is watched."""

    @property
    def pid(self) -> int:
        """The id of the process that runs now."""
        return self.process.pid

    def check(self) -> None:
        """Start the process again if it has exited and may be restarted.

        Raises:
            DaemonError: it may not; the message has the end of its log.
        """
        if self.process.poll() is None:
            return
        if not self.restarts:
            raise DaemonError(f"{self.name} has exited; {self.log} says:\n{tail(self.log)}")
        console.warn(f"{self.name} has exited and is started again; see {self.log}")
        self.restarts -= 1
        self.process = self.launch()


def start(
    name: str,
    argv: Sequence[str | Path],
    *,
    logs: Path,
    pids: Path | None = None,
    env: Mapping[str, str] | None = None,
    restarts: int = 0,
) -> Daemon:
    """Start a process in its own session, so that it outlives us and the terminal.

    Its process id is stored in `pids`, where ``down`` finds it. Whoever watches it starts it again
    up to `restarts` times.
    """
    logs.mkdir(parents=True, exist_ok=True)
    log = logs / f"{name}.log"
    launch = partial(_launch, name, [str(a) for a in argv], log, pids, env)
    return Daemon(name, log, launch(), launch, restarts)


def _launch(
    name: str, argv: list[str], log: Path, pids: Path | None, env: Mapping[str, str] | None
) -> subprocess.Popen[bytes]:
    with log.open("ab") as out:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=clean_environment(env),
            cwd="/",
            start_new_session=True,
        )
    _outliving.append(process)
    if pids is not None:
        pids.mkdir(parents=True, exist_ok=True)
        (pids / name).write_text(str(process.pid))
    return process


def alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def command_line(pid: int) -> list[str]:
    """Return a process's arguments; empty if it has ended or is a kernel thread."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return []
    return [part.decode(errors="replace") for part in raw.split(b"\0") if part]


def is_ours(argv: Sequence[str], state: Path, programs: Iterable[str]) -> bool:
    """Return whether a command line is a process of the cluster in `state`.

    Two things must hold, so that an editor or a ``tail`` in the state directory is left alone: the
    program is one that we start, and an argument names the state directory or a file below it.
    """
    if not argv or Path(argv[0]).name not in set(programs):
        return False
    return any(_names(argument, str(state)) for argument in argv[1:])


def _names(argument: str, directory: str) -> bool:
    """Return whether an argument such as ``--x=/dir/file`` names a directory, not just a prefix."""
    start_at = argument.find(directory)
    if start_at < 0:
        return False
    after = argument[start_at + len(directory) :]
    before = argument[:start_at]
    return (after == "" or after[0] in "/,:") and (before == "" or before[-1] in "=:/,")


def find(state: Path, programs: Iterable[str]) -> list[int]:
    """Return the ids of all running processes of the cluster in `state`, except our own."""
    known = set(programs)
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        if is_ours(command_line(int(entry.name)), state, known):
            found.append(int(entry.name))
    return sorted(found)


def end(pids: Iterable[int], *, grace_s: float = 5) -> None:
    """End processes: SIGTERM, then SIGKILL for those still alive after `grace_s` seconds.

    Raises:
        DaemonError: one is still alive 10 s after SIGKILL.
    """
    left = [pid for pid in pids if alive(pid)]
    for sent, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 10.0)):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sent)
        deadline = time.monotonic() + patience_s
        while left and time.monotonic() < deadline:
            time.sleep(0.02)
            left = [pid for pid in left if _still_there(pid)]
        if not left:
            return
    raise DaemonError(f"processes {left} survive SIGKILL")


def _still_there(pid: int) -> bool:
    """Return whether a process is alive; reaps it first if it is our child."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    return alive(pid)

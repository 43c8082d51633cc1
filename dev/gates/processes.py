"""Runs the phases as processes of this machine; prefixes each output line with the phase's name."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import IO

from dev.gates.phases import Phase
from dev.gates.schedule import CODE_TIMED_OUT, Room
from dev.localcluster import console, doctor
from dev.localcluster.paths import REPO, from_environment

GRACE_S = ((signal.SIGINT, 60.0), (signal.SIGTERM, 15.0), (signal.SIGKILL, 10.0))
"""How a phase is ended: gently first, so that fixtures can stop what they started."""

CLEANUP_S = 180.0
CODE_NOT_STARTED = 127
NICENESS = 10
LAST_WORDS_S = 5.0
"""How long to keep reading after a phase ends: a daemon it left may hold its output open."""


class Processes:
    """Runs phases in parallel, each in its own session."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self._ended: queue.Queue[tuple[Phase, int]] = queue.Queue()
        self._stopping = threading.Event()
        self._watchers: list[threading.Thread] = []

    def clock(self) -> float:
        """Seconds since an arbitrary moment."""
        return time.monotonic()

    def start(self, phase: Phase, limit_s: float) -> None:
        """Start a phase; a thread waits for its end."""
        watcher = threading.Thread(target=self._see_through, args=(phase, limit_s))
        self._watchers.append(watcher)
        watcher.start()

    def wait(self) -> tuple[Phase, int]:
        """Wait for any phase to end; returns it and its exit code."""
        return self._ended.get()

    def stop(self) -> None:
        """Stop all running phases in parallel, and wait for them to end."""
        self._stopping.set()
        for watcher in self._watchers:
            watcher.join()

    def lacks(self) -> str:
        """What doctor reports as missing, on one line."""
        lines = [check.line for check in doctor.examine(from_environment()) if check.problem]
        return "; ".join(lines) or "doctor failed"

    def _see_through(self, phase: Phase, limit_s: float) -> None:
        code = CODE_NOT_STARTED
        try:
            code = run_phase(phase, limit_s, self._stopping)
        finally:
            self._ended.put((phase, code))


def run_phase(phase: Phase, limit_s: float, stopping: threading.Event) -> int:
    """Run the command for at most `limit_s` seconds or until `stopping`; returns its exit code."""
    process = subprocess.Popen(
        phase.command(), cwd=REPO, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert process.stdout is not None
    if not phase.cores:
        _give_way(process.pid)
    reader = threading.Thread(target=_show, args=(phase.name, process.stdout), daemon=True)
    reader.start()
    code = _wait(process, limit_s, stopping)
    if code is None:
        _end(process)
    reader.join(LAST_WORDS_S)
    if code is None or (phase.leaves_cluster and os.environ.get("KEEP") != "1"):
        _clean_up(phase)
    return CODE_TIMED_OUT if code is None else code


def _wait(
    process: subprocess.Popen[bytes], limit_s: float, stopping: threading.Event
) -> int | None:
    """The exit code; None if its time is over or it has to stop."""
    end = time.monotonic() + limit_s
    while not stopping.is_set() and time.monotonic() < end:
        try:
            return process.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
    return process.poll()


def _give_way(session: int) -> None:
    """Lower the priority of a session, so that CPU-bound phases yield to timed ones."""
    with contextlib.suppress(OSError):  # it may have ended, or the kernel has no autogroups
        nice = min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
        os.setpriority(os.PRIO_PGRP, session, nice)
        # if the scheduler groups by session, the priority within a session has no effect
        Path(f"/proc/{session}/autogroup").write_text(str(nice))


def _show(name: str, output: IO[bytes]) -> None:
    """Print each line with the phase's name before it."""
    with output:
        for line in output:
            console.say(f"{name:<15} | {line.decode(errors='replace').rstrip()}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop the command's process group, at last with SIGKILL."""
    for number, wait_s in GRACE_S:
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(wait_s)
        except subprocess.TimeoutExpired:
            continue
    process.poll()


def _clean_up(phase: Phase) -> None:
    if not phase.cleanup:
        return
    try:
        subprocess.run(phase.cleanup, cwd=REPO, check=False, timeout=CLEANUP_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        console.warn(f"cleaning up after {phase.name}: {error}")

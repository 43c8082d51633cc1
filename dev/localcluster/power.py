"""A node that loses its power: its kubelet and its pods end without notice, and come back later."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass

from dev.localcluster import cgroups, daemons
from dev.localcluster.failures import LocalClusterError
from dev.localcluster.paths import Paths

GONE_LIMIT_S = 30.0


@dataclass(frozen=True)
class Outage:
    """A node without power, and how its kubelet was started."""

    number: int
    kubelet: tuple[str, ...]


def off(paths: Paths, number: int) -> Outage:
    """End the kubelet of a node, and then all of its containers, with SIGKILL.

    Raises:
        LocalClusterError: the kubelet does not run, or containers are left after half a minute.
    """
    name = f"kubelet-node{number}"
    pid = int((paths.pids / name).read_text())
    kubelet = tuple(daemons.command_line(pid))
    if not kubelet:
        raise LocalClusterError(f"{name} does not run")
    _kill((pid,))
    end_s = time.monotonic() + GONE_LIMIT_S
    while left := cgroups.members(number):
        if time.monotonic() > end_s:
            raise LocalClusterError(f"node{number}: processes {sorted(left)} survive SIGKILL")
        _kill(left)
        time.sleep(0.05)
    return Outage(number, kubelet)


def on(paths: Paths, outage: Outage) -> daemons.Daemon:
    """Start the kubelet again, which starts the pods again."""
    return daemons.start(
        f"kubelet-node{outage.number}",
        outage.kubelet,
        logs=paths.logs,
        pids=paths.pids,
        env={"PATH": f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"},
    )


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

"""Keeps a second driver off a checkpoint: the newest owner is written beside it.

Kubernetes starts a driver again only once the pod before it is gone. This is for when it does not:
a StatefulSet that was scaled up, a pod deleted by force while its node could not be reached.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from trimtab.job.termination import JobFailureError, Reason


class Owned(Protocol):
    """What is owned: a checkpoint."""

    def owner(self) -> str | None:
        """The owner; None if there is none yet."""

    def own(self, owner: str) -> None:
        """Write the owner; atomic."""


@dataclass(frozen=True, slots=True)
class Process:
    """A driver's process: its pod, and a number that no other process of that pod has."""

    pod: str
    uid: str
    number: str

    @classmethod
    def here(cls, pod: str, uid: str) -> Process:
        """This process."""
        return cls(pod, uid, secrets.token_hex(4))

    @classmethod
    def parse(cls, text: str | None) -> Process | None:
        """The process that `str` of it names; None if it names none."""
        parts = (text or "").split("/")
        return cls(*parts) if len(parts) == 3 else None

    def __str__(self) -> str:
        return f"{self.pod}/{self.uid}/{self.number}"


class Fence:
    """One process' right to use a checkpoint."""

    def __init__(self, checkpoint: Owned, here: Process, runs: Callable[[Process], bool]) -> None:
        """`runs` tells whether the pod of a process still runs; it may do so if that is unknown."""
        self._checkpoint, self._here, self._runs = checkpoint, here, runs

    def take(self) -> None:
        """Become the owner; raises a healing JobFailureError while another pod's driver runs."""
        before = Process.parse(self._checkpoint.owner())
        if before and before.uid != self._here.uid and self._runs(before):
            raise JobFailureError(
                Reason.CHECKPOINT_IN_USE,
                f"the driver in pod {before.pod} uses the checkpoint, and two would write every"
                " record twice: this one waits until that pod is gone",
                heals=True,
            )
        self._checkpoint.own(str(self._here))

    def require(self) -> None:
        """Raise JobFailureError if another process has become the owner."""
        now = self._checkpoint.owner()
        if now != str(self._here):
            other = Process.parse(now)
            raise JobFailureError(
                Reason.CHECKPOINT_IN_USE,
                f"another driver ({other.pod if other else now}) has taken over the checkpoint;"
                " this one writes nothing more",
            )

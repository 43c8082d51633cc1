"""Task locality: the locality waits of Spark's scheduler, changed live.

Spark gives each Kafka partition a preferred executor, the one that caches its consumer. In scope
*Process* a task waits briefly for that executor; in other scopes it takes any free slot. While
executors start or exit no task waits, whatever the scope: it might wait for one that is gone.
"""

from __future__ import annotations

from typing import Protocol

from trimtab.api.knobs import SCOPES

PROCESS, NODE, ZONE, ANY = range(len(SCOPES))

WAIT = "1s"
"""How long a task waits for its preferred executor before it takes another one."""

NO_WAIT = "0s"
WAIT_KEYS = ("spark.locality.wait.process", "spark.locality.wait.node")
"""Spark reads both for each stage. It waits for each in turn before it takes any slot, and on
Kubernetes the 'node' is the executor itself."""


class LiveConf(Protocol):
    """The SparkConf that the scheduler reads, not a copy."""

    def set(self, key: str, value: str) -> object:
        """Set a key."""

    def remove(self, key: str) -> object:
        """Back to the default."""


class Locality:
    """Sets the waits according to the scope and to whether the executors have settled."""

    def __init__(self, conf: LiveConf) -> None:
        """Changes nothing until a scope is set."""
        self._conf = conf
        self._scope: int | None = None
        self._settled = True
        self._waiting: bool | None = None

    @property
    def scope(self) -> int | None:
        """The scope in force; None if none is set: then nothing waits."""
        return self._scope

    def set_scope(self, scope: int | None) -> None:
        """Follow the knob."""
        self._scope = scope
        self._apply()

    def settle(self, *, settled: bool) -> None:
        """Whether no executor is starting or leaving."""
        self._settled = settled
        self._apply()

    def _apply(self) -> None:
        waiting = self._scope == PROCESS and self._settled
        if waiting == bool(self._waiting):
            return
        self._waiting = waiting
        for key in WAIT_KEYS:
            self._conf.set(key, WAIT if waiting else NO_WAIT)


def wait_is_inert(scope: float | None, tasks_asked: float | None, partitions: int) -> bool | None:
    """Whether waiting has no effect: Spark gives split partitions no preferred executor.

    `tasks_asked` is minPartitions. Returns None for a scope that does not wait.
    """
    if scope != PROCESS:
        return None
    return tasks_asked is not None and tasks_asked > partitions

"""How near to their data tasks run: the waits of Spark's scheduler, changed live.

Spark gives each Kafka partition a preferred executor, the one that holds its consumer. In the scope
*Process* a task waits for it a while; in the others it takes any slot at once. While executors come
or go nothing waits, whatever the scope: a task would wait for one that is gone.
"""

from __future__ import annotations

from typing import Protocol

from trimtab.api.knobs import SCOPES

PROCESS, NODE, ZONE, ANY = range(len(SCOPES))

WAIT = "1s"
"""A task of a near executor that is busy goes elsewhere after this long."""

NO_WAIT = "0s"
WAIT_KEYS = ("spark.locality.wait.process", "spark.locality.wait.node")
"""Spark looks them up for each stage anew. It asks for both before it takes any slot, and on
Kubernetes the node is the executor itself."""


class LiveConf(Protocol):
    """The SparkConf that the scheduler reads, not a copy."""

    def set(self, key: str, value: str) -> object:
        """Set a key."""

    def remove(self, key: str) -> object:
        """Back to the default."""


class Locality:
    """Sets the waits by scope, and by whether the executors are settled."""

    def __init__(self, conf: LiveConf) -> None:
        """Touches nothing until a scope is asked for."""
        self._conf = conf
        self._scope: int | None = None
        self._settled = True
        self._waiting: bool | None = None

    @property
    def scope(self) -> int | None:
        """The scope in force; None where nobody asks for one, then nothing waits."""
        return self._scope

    def set_scope(self, scope: int | None) -> None:
        """Follow the knob."""
        self._scope = scope
        self._apply()

    def settle(self, *, settled: bool) -> None:
        """Whether no executor is on its way in or out."""
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
    """Whether the wait does nothing, since Spark gives split partitions no preferred executor.

    `tasks_asked` is minPartitions; None for a scope that does not wait.
    """
    if scope != PROCESS:
        return None
    return tasks_asked is not None and tasks_asked > partitions

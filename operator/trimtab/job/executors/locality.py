"""Task locality: the locality waits of Spark's scheduler, changed live.

Spark gives each Kafka partition a preferred executor, the one that caches its consumer. In scope
*Process* a task waits briefly for that executor; in other scopes it takes any free slot. While
executors start or exit no task waits, whatever the scope: it might wait for one that is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from trimtab.api.knobs import ANY, PROCESS, SCOPES

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


def scope_loads(
    loads: Mapping[str, float], partitions: Collection[tuple[str, int]]
) -> dict[str, float]:
    """Mean load of the executors that each scope has, whichever is in force; empty if unknown.

    `loads` are those of the running executors, `partitions` topics and numbers. In *Process* the
    same work is done by the executors that tasks prefer, in *Any* by all of them.
    """
    near = {preferred(topic, number, len(loads)) for topic, number in partitions if loads}
    if not near:
        return {}
    total = sum(loads.values())
    return {SCOPES[PROCESS]: total / len(near), SCOPES[ANY]: total / len(loads)}


def preferred(topic: str, partition: int, executors: int) -> int:
    """Which of the sorted executors Spark prefers for a partition: its hash modulo their number.

    The hash is that of Kafka's TopicPartition, in 32 bits; Spark's `KafkaOffsetRangeCalculator`
    does the rest.
    """
    name = 0
    for unit in memoryview(topic.encode("utf-16-le")).cast("H"):
        name = 31 * name + unit
    hashed = (31 * (31 + partition) + name) & 0xFFFFFFFF
    return (hashed - (hashed >> 31 << 32)) % executors


def wait_is_inert(scope: float | None, tasks_asked: float | None, partitions: int) -> bool | None:
    """Whether waiting has no effect: Spark gives split partitions no preferred executor.

    `tasks_asked` is minPartitions. Returns None for a scope that does not wait.
    """
    if scope != PROCESS:
        return None
    return tasks_asked is not None and tasks_asked > partitions

"""Executor pods of a running query: count up, count down, and their states.

The calls reach Spark's scheduler through py4j: there is no Python API for them. Up is an
absolute target (the relative call counts from a total of its own). Down is by decommission:
running tasks finish, the target falls with it, nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trimtab.job.board import ExecutorStates


def pick_to_remove(running: Iterable[str], leaving: Iterable[str], surplus: int) -> list[str]:
    """The youngest executors: the older ones have warm code and warm Python workers."""
    gone = set(leaving)
    staying = sorted((e for e in running if e not in gone), key=int, reverse=True)
    return staying[: max(0, surplus)]


class Executors:
    """The executors of one Spark application on Kubernetes."""

    def __init__(self, context: Any, requested: int) -> None:
        """`context` is the SparkContext, `requested` the count that it was started with."""
        self._jvm = context._jvm
        self._scala = context._jsc.sc()
        self._requested = requested
        self._leaving: set[str] = set()

    @property
    def requested(self) -> int:
        """The target."""
        return self._requested

    def scale(self, target: int) -> None:
        """Ask for `target` executors; returns before they have come or gone."""
        # the target first, as an absolute number: it removes none that runs, but withdraws
        # pods that are still pending and keeps Spark from replacing those that leave
        none = self._jvm.scala.collection.immutable.HashMap()
        self._scala.requestTotalExecutors(target, 0, none)
        self._requested = target
        running = self._running()
        surplus = len(running - self._leaving) - target
        for executor in pick_to_remove(running, self._leaving, surplus):
            self._decommission(executor)

    def _decommission(self, executor: str) -> None:
        why = self._jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo(
            "trimtab scales down", self._jvm.scala.Option.empty()
        )
        self._leaving.add(executor)
        self._scala.schedulerBackend().decommissionExecutor(executor, why, False, False)

    def _running(self) -> set[str]:
        ids = self._scala.getExecutorIds()
        return {str(ids.apply(i)) for i in range(ids.size())}

    def states(self) -> ExecutorStates:
        """The counts now."""
        running = self._running()
        self._leaving &= running
        return ExecutorStates(self._requested, len(running), len(self._leaving))

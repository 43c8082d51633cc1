"""Executor pods of a running query: count up, count down, states and load.

The calls reach Spark's scheduler through py4j: there is no Python API for them. Up is an
absolute target (the relative call counts from a total of its own). Down is by decommission:
running tasks finish, the target falls with it, nothing is written twice.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from trimtab.job.board import Board, ExecutorStates, Load

log = logging.getLogger(__name__)

SAMPLE_S = 0.5
LOAD_WINDOW = 10
"""Samples that the busy share is averaged over: 5 s, one scrape."""


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


@dataclass(frozen=True, slots=True)
class Work:
    """What the executors have done and do, in total: slots, and milliseconds since start."""

    busy: int
    slots: int
    task_ms: int
    gc_ms: int


def read_work(context: Any) -> Work:
    """The state of all executors from Spark's own bookkeeping (the driver's in local mode).

    Running tasks come from the scheduler itself: the status store hears of a task's start before
    the end of the one before it, and then holds both for as long as the next one runs.
    """
    scala = context._jsc.sc()
    running = scala.taskScheduler().runningTasksByExecutors().valuesIterator()
    busy = 0
    while running.hasNext():
        busy += running.next()
    summaries = scala.statusStore().executorList(True)
    slots = task_ms = gc_ms = 0
    for index in range(summaries.size()):
        summary = summaries.apply(index)
        if summary.maxTasks() > 0:
            slots += summary.maxTasks()
            task_ms += summary.totalDuration()
            gc_ms += summary.totalGCTime()
    return Work(busy, slots, task_ms, gc_ms)


class Sampler:
    """Looks at the executors twice a second and puts states and load on the board."""

    def __init__(
        self,
        board: Board,
        read: Callable[[], Work],
        executors: Executors | None,
        on_running: Callable[[int], None],
    ) -> None:
        """`on_running` hears how many executors are registered; not called in local mode."""
        self._board = board
        self._read = read
        self._executors = executors
        self._on_running = on_running
        self._work: deque[Work] = deque(maxlen=LOAD_WINDOW)

    def sample(self) -> None:
        """One look."""
        if self._executors is not None:
            states = self._executors.states()
            self._on_running(states.running)
            self._board.executors = states
        self._work.append(self._read())
        self._board.load = load_of(self._work)

    def start(self, stopping: threading.Event) -> threading.Thread:
        """Sample until `stopping` is set or Spark is gone."""

        def run() -> None:
            while not stopping.wait(SAMPLE_S):
                try:
                    self.sample()
                except Exception as error:  # py4j raises what it likes while Spark goes down
                    log.debug("no sample of the executors: %s", error)
                    with self._board.writing() as board:
                        board.executors = board.load = None

        thread = threading.Thread(target=run, name="trimtab-sampler", daemon=True)
        thread.start()
        return thread


def load_of(work: Iterable[Work]) -> Load:
    """Mean share of busy slots, and collection time per task time, over the samples."""
    samples = list(work)
    shares = [w.busy / w.slots for w in samples if w.slots]
    busy = sum(shares) / len(shares) if shares else None
    tasks = samples[-1].task_ms - samples[0].task_ms if samples else 0
    collected = samples[-1].gc_ms - samples[0].gc_ms if samples else 0
    # both grow when a task ends: without an end in the window there is no share to tell
    gc = min(1.0, max(0.0, collected / tasks)) if tasks > 0 else None
    return Load(slots_busy=busy, gc=gc)

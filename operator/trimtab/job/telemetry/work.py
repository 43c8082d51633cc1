"""The work of the executors, read from Spark's own bookkeeping through py4j.

There is no Python API for it. Running tasks are read from the scheduler itself: the status store
learns of a task's start before the end of the previous one, and then counts both for as long as
the new one runs. The figures of a stage are read once, after its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext

from trimtab.job import gateway
from trimtab.job.gateway import JavaObject, items

ENDED = {"COMPLETE", "FAILED", "SKIPPED"}
MISSES = 4
"""Failed lookups of a stage after each new job: each one costs a Java stack trace."""


@dataclass(frozen=True, slots=True)
class ExecutorWork:
    """One executor: its slots, those in use, and milliseconds of completed tasks."""

    busy: int
    slots: int
    task_ms: int


@dataclass(frozen=True, slots=True)
class Work:
    """All executors by id; total collection time; tasks waiting for a slot."""

    executors: Mapping[str, ExecutorWork]
    gc_ms: int = 0
    waiting: int = 0
    mark: int = 0
    """A number that differs after each task that ends, and each record that one reads or writes."""

    @property
    def busy(self) -> int:
        """Slots in use."""
        return sum(e.busy for e in self.executors.values())

    @property
    def slots(self) -> int:
        """All slots."""
        return sum(e.slots for e in self.executors.values())

    @property
    def task_ms(self) -> int:
        """Total time of completed tasks."""
        return sum(e.task_ms for e in self.executors.values())


@dataclass(frozen=True, slots=True)
class StageWork:
    """A stage that has ended."""

    cpu_ms: float
    """CPU time of the task threads in the JVM, without Python workers and garbage collection."""
    task_ms: float
    heap_bytes: int | None
    """Peak heap of an executor during the stage."""
    localities: Mapping[str, int]
    """Tasks by Spark's locality level."""
    failed: int = 0
    """Attempts of tasks that failed. Spark tries each again, and with a sink that cannot take back
    what it got, the records that such an attempt had written are written twice."""


class SparkWork:
    """Reads the executors and stages of one Spark application."""

    def __init__(self, context: SparkContext) -> None:
        """Begins with the application's first stage."""
        self._scala = gateway.scala_context(context)
        self._next = 0
        self._jobs = 0
        self._misses = 0

    def work(self) -> Work:
        """The executors now (the driver's own slots in local mode)."""
        store = self._scala.statusStore()
        running = _counts(self._scala.taskScheduler().runningTasksByExecutors())
        executors, gc_ms = {}, 0
        for summary in items(store.executorList(True)):
            if slots := summary.maxTasks():
                name = summary.id()
                executors[name] = ExecutorWork(running.get(name, 0), slots, summary.totalDuration())
                gc_ms += summary.totalGCTime()
        stages = items(store.activeStages())
        return Work(executors, gc_ms, _waiting(stages), sum(_mark(each) for each in stages))

    def ended(self) -> list[StageWork]:
        """The stages that have ended since the last call; Spark numbers them without gaps."""
        jobs = self._scala.dagScheduler().numTotalJobs()
        if jobs != self._jobs:
            self._jobs, self._misses = jobs, 0
        store, found = self._scala.statusStore(), []
        while self._misses < MISSES:
            try:
                stage = store.lastStageAttempt(self._next)
            except Py4JJavaError:  # the store learns of a job shortly after it is counted
                self._misses += 1
                break
            if stage.status().toString() not in ENDED:
                break
            self._next += 1
            if stage.executorRunTime() > 0:
                found.append(_stage_work(store, stage))
        return found


def _mark(stage: JavaObject) -> int:
    """Tasks that have ended, and records so far, which the heartbeats of running tasks report."""
    moved = stage.inputRecords() + stage.outputRecords()
    shuffled = stage.shuffleReadRecords() + stage.shuffleWriteRecords()
    return int(stage.stageId() + stage.numCompleteTasks() + moved + shuffled)


def _waiting(stages: Iterable[JavaObject]) -> int:
    """Tasks of the active stages that have not begun."""
    waiting = 0
    for stage in stages:
        waiting += stage.numTasks() - stage.numActiveTasks() - stage.numCompleteTasks()
    return max(0, waiting)


def _counts(scala_map: JavaObject) -> dict[str, int]:
    """A Scala map of whole numbers, in one call: `a -> 1,b -> 2`."""
    pairs = (pair.rpartition(" -> ") for pair in scala_map.mkString(",").split(",") if pair)
    return {key: int(value) for key, _, value in pairs}


def _stage_work(store: JavaObject, stage: JavaObject) -> StageWork:
    peak = stage.peakExecutorMetrics()
    heap = peak.get().getMetricValue("JVMHeapMemory") if peak.isDefined() else 0
    return StageWork(
        cpu_ms=stage.executorCpuTime() / 1e6,
        task_ms=stage.executorRunTime(),
        heap_bytes=heap or None,  # 0: not sampled while it ran
        failed=stage.numFailedTasks() + stage.numKilledTasks(),
        localities=_counts(store.localitySummary(stage.stageId(), stage.attemptId())),
    )


def heap_limit(context: SparkContext) -> int:
    """Maximum heap of an executor in bytes; the driver's own in local mode."""
    if str(context.master).startswith("local"):
        return int(gateway.classes(context).java.lang.Runtime.getRuntime().maxMemory())
    memory = context.getConf().get("spark.executor.memory")
    utilities = gateway.classes(context).org.apache.spark.network.util.JavaUtils
    return int(utilities.byteStringAsBytes(memory))

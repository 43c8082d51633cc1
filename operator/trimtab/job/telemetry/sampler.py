"""Samples the executors twice a second: their states and load, for the exporter."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from trimtab.job.executors.executors import Executors
from trimtab.job.executors.pod_log import PodLog, Told
from trimtab.job.telemetry.driver_state import DriverState, ExecutorLoad, Load
from trimtab.job.telemetry.stall import Progress, StallWatch
from trimtab.job.telemetry.work import StageWork, Work

log = logging.getLogger(__name__)

SAMPLE_S = 0.5
LOAD_WINDOW = 10
"""Samples over which the busy ratio is averaged: 5 s, one scrape."""

CAPACITY_WINDOW = 120
"""Samples over which an executor's capacity and the ratios of stages are taken: one minute."""


class WorkSource(Protocol):
    """Where the executors' figures come from: Spark."""

    def work(self) -> Work:
        """The executors now."""

    def ended(self) -> list[StageWork]:
        """The stages that have ended since the last call."""


class Sampler:
    """Samples until it is stopped or Spark is gone."""

    def __init__(
        self,
        driver: DriverState,
        source: WorkSource,
        heap_limit: int,
        executors: Executors | None,
        on_staying: Callable[[int], None],
        *,
        pod_log: PodLog | None = None,
        stall: StallWatch | None = None,
    ) -> None:
        """`heap_limit` in bytes; `on_staying` gets the number of executor pods that get tasks."""
        self._driver = driver
        self._source = source
        self._heap_limit = heap_limit
        self._executors = executors
        self._on_staying = on_staying
        self._pod_log = pod_log
        self._stall = stall or StallWatch()
        self._taken = 0
        self._work: deque[Work] = deque(maxlen=CAPACITY_WINDOW)
        self._stages: deque[tuple[int, StageWork]] = deque()

    def sample(self) -> None:
        """Take one sample."""
        states = self._executors.states() if self._executors is not None else None
        if states is not None:
            self._on_staying(states.staying)
        now = self._source.work()
        self._work.append(now)
        ended = self._source.ended()
        self._keep(ended)
        told = Told()
        if self._pod_log is not None:
            told = self._pod_log.read(pending=states.pending if states is not None else 0)
        work, stages = list(self._work), [stage for _, stage in self._stages]
        with self._driver.writing() as driver:
            self._watch(driver, now)
            driver.executors = states
            driver.executors_refused = told.reason
            driver.totals.executors_refused += told.refused
            driver.totals.executors_failed += told.failed
            if self._executors is not None:
                driver.totals.executors_lost = self._executors.lost
            for stage in ended:
                driver.totals.localities.update(stage.localities)
                driver.totals.failed_tasks += stage.failed
            driver.load = Load(
                slots_busy=slots_busy(work[-LOAD_WINDOW:]),
                gc=gc_share(work[-LOAD_WINDOW:]),
                # Spark does not count the CPU time of Python workers: the ratio is unknown then
                cpu=cpu_share(stages) if driver.uses_python is False else None,
                heap=heap_share(stages, self._heap_limit),
                executors=executor_loads(work),
            )

    def _watch(self, driver: DriverState, now: Work) -> None:
        batch_id = driver.running.batch_id if driver.running else None
        starved = now.slots == 0 and now.waiting > 0
        self._stall.observe(Progress(batch_id, now.mark, starved))
        driver.stalled_s = self._stall.stalled_s

    def _keep(self, ended: list[StageWork]) -> None:
        """Keep the stages of the last minute, or else the latest one, however old."""
        self._taken += 1
        self._stages.extend((self._taken, stage) for stage in ended)
        while len(self._stages) > 1 and self._stages[0][0] <= self._taken - CAPACITY_WINDOW:
            self._stages.popleft()

    def start(self, stopping: threading.Event) -> threading.Thread:
        """Sample until `stopping` is set or Spark is gone."""

        def run() -> None:
            while not stopping.wait(SAMPLE_S):
                try:
                    self.sample()
                except Exception as error:  # py4j may raise anything while Spark shuts down
                    log.debug("no sample of the executors: %s", error)
                    with self._driver.writing() as driver:
                        driver.executors = driver.load = None

        thread = threading.Thread(target=run, name="trimtab-sampler", daemon=True)
        thread.start()
        return thread


def slots_busy(work: Sequence[Work]) -> float | None:
    """Mean ratio of slots in use."""
    shares = [w.busy / w.slots for w in work if w.slots]
    return sum(shares) / len(shares) if shares else None


def gc_share(work: Sequence[Work]) -> float | None:
    """Garbage collection time per task time.

    Both grow when a task ends: unknown if none ended in the window.
    """
    tasks = work[-1].task_ms - work[0].task_ms if work else 0
    collected = work[-1].gc_ms - work[0].gc_ms if work else 0
    return min(1.0, max(0.0, collected / tasks)) if tasks > 0 else None


def cpu_share(stages: Sequence[StageWork]) -> float | None:
    """CPU time per task time."""
    tasks = sum(s.task_ms for s in stages)
    return min(1.0, sum(s.cpu_ms for s in stages) / tasks) if tasks > 0 else None


def heap_share(stages: Sequence[StageWork], limit: int) -> float | None:
    """Peak heap of an executor per heap limit, including garbage."""
    peaks = [s.heap_bytes for s in stages if s.heap_bytes is not None]
    return min(1.0, max(peaks) / limit) if peaks and limit else None


def executor_loads(work: Sequence[Work]) -> Mapping[str, ExecutorLoad]:
    """Load and capacity of each running executor, as Apache Storm defines them for its workers.

        load = max(busy slots / slots, min(waiting, slots) / slots)     mean over 5 s
        capacity = tasks ended · their mean time / (slots · time)       over a minute

    `waiting` is the executor's share of the tasks without a slot. If tasks last longer than a
    minute, the capacity is 0 until they end, and then above 1.
    """
    return {
        name: ExecutorLoad(_load(name, work[-LOAD_WINDOW:]), _capacity(name, work))
        for name in (work[-1].executors if work else ())
    }


def _load(name: str, work: Sequence[Work]) -> float:
    shares = []
    for sample in work:
        if own := sample.executors.get(name):
            waiting = sample.waiting / len(sample.executors)
            shares.append(max(own.busy, min(waiting, own.slots)) / own.slots)
    return sum(shares) / len(shares)


def _capacity(name: str, work: Sequence[Work]) -> float | None:
    own = [sample.executors[name] for sample in work if name in sample.executors]
    seconds = (len(own) - 1) * SAMPLE_S
    if not seconds:
        return None
    return (own[-1].task_ms - own[0].task_ms) / 1000 / (own[-1].slots * seconds)

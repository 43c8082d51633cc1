"""What Spark does not report about a batch: its settings, its start, its executors.

The gate tells when a batch begins and the listener when it was committed, possibly after the next
one has begun. So everything is kept by batch id and by Spark's run id.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from trimtab.api.knobs import How
from trimtab.job.batches.progress import BatchReport
from trimtab.job.batches.timing import Split, Timing
from trimtab.job.query.offset_log import Offsets
from trimtab.job.telemetry.driver_state import CommittedBatch, DriverState, RunningBatch

HISTORY = 32
"""Settings generations to remember; no batch outlives that many changes."""


@dataclass(frozen=True, slots=True)
class QueryStart:
    """One start of the query: its number, and the batch that it replays."""

    number: int
    replay_batch: int | None


@dataclass(frozen=True, slots=True)
class Pause:
    """An interruption after start number `after`; ends with the first commit of a later start."""

    how: How
    after: int
    trigger_s: float


class Batches:
    """Tracks the batches of all starts and updates the driver's state with them."""

    def __init__(self, driver: DriverState, clock: Callable[[], float]) -> None:
        """`clock` gives seconds since 1970."""
        self._driver = driver
        self._clock = clock
        self._expected: QueryStart | None = None
        self._starts: dict[str, QueryStart] = {}
        self._generations: list[tuple[float, int]] = []
        self._executors: dict[int, int] = {}
        self._splits: dict[int, Split] = {}
        self._pause: Pause | None = None
        self.timing = Timing()
        self.waits: Callable[[Offsets, Offsets, float], Mapping[float, float] | None] | None = None
        """Tells how long the records of a range waited for their commit, by quantile."""
        self.following: Callable[[int], None] | None = None
        """Called with the next batch after a commit, if none passes a gate."""
        self.committed: Offsets | None = None
        self.last_commit: float | None = None

    def applied(self, generation: int) -> None:
        """These settings are in force from now on."""
        with self._driver.writing() as driver:
            self._generations = [*self._generations[1 - HISTORY :], (self._clock(), generation)]
            driver.settings_generation = generation
        self.timing.changed()

    def expect(self, start: QueryStart) -> None:
        """A query is about to start; the next run id that Spark reports belongs to it."""
        with self._driver.writing() as driver:
            self._expected = start
            driver.run_number = start.number

    def started(self, run_id: str) -> None:
        """Spark has assigned this run id to the expected start."""
        if self._expected is not None:
            self._starts[run_id] = self._expected

    def pausing(self, how: How, trigger_s: float) -> None:
        """A change interrupts the query, which was running with this trigger."""
        if self._pause is None:
            after = self._expected.number if self._expected else 0
            self._pause = Pause(how, after, trigger_s)

    def _end_pause(self, start: QueryStart, committed_at: float) -> None:
        pause = self._pause
        if pause is None or start.number <= pause.after:
            return
        self._pause = None
        if self.last_commit is not None:  # else nothing ran before, so nothing paused
            gap = committed_at - self.last_commit - pause.trigger_s
            self._driver.totals.pause_s[pause.how] += max(0.0, gap)

    def replays(self, batch_id: int) -> bool:
        """Whether an earlier start planned this batch of the current one."""
        return self._expected is not None and self._expected.replay_batch == batch_id

    def begin(
        self, batch_id: int, records: int | None, executors: int | None, replays: int = 0
    ) -> bool:
        """A batch has passed the gate; `replays` counts its earlier attempts.

        Returns whether to time it; a replayed batch never is.
        """
        with self._driver.writing() as driver:
            each = driver.record_bytes
            size = None if records is None or each is None else records * each
            timed = not replays and self.timing.due(size)
            driver.totals.replays += replays > 0
            driver.running = RunningBatch(
                batch_id, self._clock(), records, executors, replays, timed
            )
            self._executors = {k: v for k, v in self._executors.items() if k >= batch_id - 2}
            self._executors.pop(batch_id, None)  # from an earlier start
            if executors is not None:
                self._executors[batch_id] = executors

        return timed

    def written(self, split: Split | None) -> None:
        """The running batch was written; `split` has its measurement if it was timed."""
        with self._driver.writing() as driver:
            if split is not None and driver.running is not None:
                self._splits = {driver.running.batch_id: split}

    def sample_executors(self, running: int) -> None:
        """This many executors are registered now."""
        with self._driver.writing() as driver:
            if driver.running is not None:
                batch_id = driver.running.batch_id
                fewest = min(running, self._executors.get(batch_id, running))
                self._executors[batch_id] = fewest
                driver.running = replace(driver.running, executors_min=fewest)

    def abandon(self) -> None:
        """The query has ended: no batch is running."""
        with self._driver.writing() as driver:
            driver.running = None

    def finish(self, report: BatchReport) -> None:
        """A batch was committed."""
        start = self._starts.get(report.run_id)
        with self._driver.writing() as driver:
            running = driver.running
            if report.planned is None and running and running.batch_id == report.batch_id:
                # Spark does not say where the first batch of a checkpoint begins: its offsets do
                report = replace(report, planned=running.records)
            split = self._splits.pop(report.batch_id, None)
            if split is not None:
                parts = {"compute": split.compute_s, "sink": split.sink_s}
                report = replace(report, phases={**report.phases, **parts})
                driver.sink_share = split.sink_share
            self.timing.finished(report.duration_s, timed=split is not None)
            batch = CommittedBatch(
                report=report,
                settings_generation=self._in_force_at(report.started_at),
                executors_min=self._executors.get(report.batch_id),
                replayed=start is not None and start.replay_batch == report.batch_id,
                timed=split is not None,
            )
            driver.last = batch
            driver.waits = self._waits(report)
            if report.bytes and report.records:
                driver.record_bytes = report.bytes / report.records
            driver.totals.add(report)
            if start is not None:
                self._end_pause(start, report.committed_at)
            if running is not None and running.batch_id <= report.batch_id:
                driver.running = None
            self.committed = {**(self.committed or {}), **report.end_offsets}
            self.last_commit = report.committed_at
        if self.following is not None:
            self.following(report.batch_id + 1)

    def _waits(self, report: BatchReport) -> Mapping[float, float] | None:
        """Before `committed` moves on, which lets the history of the batch be forgotten."""
        if self.waits is None or self.committed is None:
            return None
        return self.waits(self.committed, report.end_offsets, report.committed_at)

    def _in_force_at(self, moment: float) -> int | None:
        index = bisect.bisect_right([at for at, _ in self._generations], moment) - 1
        return self._generations[index][1] if index >= 0 else None

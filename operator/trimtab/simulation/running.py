"""Batches in virtual time: one under way (overhead, work, state and sink), or finished."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.simulation.batch_time import Phases


@dataclass(slots=True)
class Running:
    """Records `first`..`last` of the arrivals, and when each part of the batch ends."""

    id: int
    start_s: float
    first: float
    last: float
    phases: Phases
    """As planned, noise included."""
    generation: int
    executors: int
    """Executors that share its work."""
    executors_min: int
    limit_binding: bool
    slow: float
    """The factor on the remote service's latency at its start."""
    replayed: bool
    work_from_s: float = 0.0
    work_until_s: float = 0.0
    end_s: float = 0.0
    halted_s: float | None = None
    """Since when it has had no executor."""

    def __post_init__(self) -> None:
        spent = self.phases
        self.work_from_s = self.start_s + spent.wal + spent.planning + spent.tasks
        self.work_until_s = self.work_from_s + spent.work
        self.end_s = self.work_until_s + spent.state + spent.sink

    @property
    def records(self) -> float:
        """Number of records."""
        return self.last - self.first

    def finished(self, backlog: float, run: int, since_start: int) -> BatchRecord:
        """The batch at its end, in that start of the query, with what has come meanwhile."""
        return BatchRecord(
            id=self.id, start_s=self.start_s, end_s=self.end_s, first=self.first, last=self.last,
            phases=self.phases, duration_s=self.end_s - self.start_s, generation=self.generation,
            executors_min=self.executors_min, limit_binding=self.limit_binding,
            backlog_after=backlog, run=run, since_start=since_start, replayed=self.replayed,
        )  # fmt: skip

    def delay(self, from_s: float, by_s: float) -> None:
        """Stop everything for some seconds: all later times move."""
        self.work_from_s += by_s if from_s < self.work_from_s else 0.0
        self.work_until_s += by_s if from_s < self.work_until_s else 0.0
        self.end_s += by_s

    def add_work(self, by_s: float) -> None:
        """Add work, or remove it if negative."""
        self.work_until_s += by_s
        self.end_s += by_s

    def stretch(self, now_s: float, factor: float) -> None:
        """Multiply the time of the remaining work by a factor."""
        left_s = max(0.0, self.work_until_s - max(now_s, self.work_from_s))
        self.add_work(left_s * (factor - 1))

    def redo(self, now_s: float, share: float) -> None:
        """Repeat a share of the finished work, which was lost."""
        done_s = max(0.0, min(now_s, self.work_until_s) - self.work_from_s)
        self.add_work(done_s * share)

    def halt(self, now_s: float) -> None:
        """Stop: the last executor is gone."""
        self.halted_s = now_s if self.halted_s is None else self.halted_s

    def resume(self, now_s: float) -> None:
        """Continue: an executor is back."""
        if self.halted_s is not None:
            self.delay(self.halted_s, now_s - self.halted_s)
            self.halted_s = None


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """One finished batch: records `first`..`last` of the arrivals."""

    id: int
    start_s: float
    end_s: float
    first: float
    last: float
    phases: Phases
    duration_s: float
    generation: int
    executors_min: int
    limit_binding: bool
    backlog_after: float
    """Records arrived but not yet taken by the end of the batch."""
    run: int = 1
    """Number of the query start that it belongs to."""
    since_start: int = 1
    """Batches that the driver has finished since it started, including this one."""
    replayed: bool = False

    @property
    def records(self) -> float:
        """Number of records."""
        return self.last - self.first

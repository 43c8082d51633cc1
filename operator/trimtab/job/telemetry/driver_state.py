"""What the driver knows at this moment: written by its parts, read by the exporter.

None means unknown. Unknown values are omitted from the export, never zero.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from trimtab.job.batches.ledger import Side
from trimtab.job.batches.progress import BatchReport
from trimtab.job.pending.pending_map import StageCalls

LATENCY_BUCKETS_S = (
    0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 3600.0,
)  # fmt: skip

NEW, OLD = "new", "old"
"""The generations of a JVM's heap."""


@dataclass(frozen=True, slots=True)
class CommittedBatch:
    """A batch report with what only the runner knows about it."""

    report: BatchReport
    settings_generation: int | None
    executors_min: int | None
    replayed: bool
    timed: bool = False
    """It was worked out before it was written, see `timing`."""


@dataclass(frozen=True, slots=True)
class RunningBatch:
    """The batch that is under way."""

    batch_id: int
    since: float
    records: int | None
    executors_min: int | None
    """Fewest executors since it began; None in local mode."""
    replays: int = 0
    """How often it has begun again with the records that it was planned with; 0: it is new."""
    timed: bool = False


@dataclass(frozen=True, slots=True)
class ExecutorStates:
    """Executor pods by state; pending = requested and not yet registered."""

    requested: int
    running: int
    decommissioning: int

    @property
    def staying(self) -> int:
        """There, and not on the way out: those that are given tasks."""
        return self.running - self.decommissioning

    @property
    def pending(self) -> int:
        """Asked for, but not there yet."""
        return max(0, self.requested - self.staying)


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """One partition: all that was ever written, and what is not yet committed.

    `records` and `seconds` are None while the query's position or its age is not known.
    """

    end: int
    records: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class ExecutorLoad:
    """Storm's two measures of one executor, as shares of 1; see `sampler.executor_loads`."""

    load: float
    capacity: float | None


@dataclass(frozen=True, slots=True)
class Load:
    """How busy the executors are, as shares of 1; None where there is no measure yet."""

    slots_busy: float | None = None
    gc: float | None = None
    cpu: float | None = None
    heap: float | None = None
    executors: Mapping[str, ExecutorLoad] = field(default_factory=dict)


@dataclass(slots=True)
class JvmTotals:
    """All JVMs of one role since this driver began, the warm-up of each left out."""

    seconds: float = 0.0
    """Their time, so that rates are those of one JVM however many there were."""
    count: dict[str, int] = field(default_factory=lambda: dict.fromkeys((NEW, OLD), 0))
    collecting_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys((NEW, OLD), 0.0))
    heap_limit: int = 0
    heap_peak: int = 0
    """Of the JVMs that are there now, the fullest that one was, garbage included."""
    allocated_bytes: float | None = None
    live_bytes: int | None = None
    collector: str | None = None
    new_bytes: int | None = None
    """The new generation where its size was set."""


@dataclass(slots=True)
class Totals:
    """Counters since this driver began."""

    records: int = 0
    batches: int = 0
    phase_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    ledger: Counter[str] = field(default_factory=Counter)
    ledger_xor: dict[str, int] = field(default_factory=dict)
    ledger_sum: dict[str, int] = field(default_factory=dict)
    """XOR and sum of the identities by side, where records have one."""
    ledger_mismatch: int | None = None
    clipped: int = 0
    latency_buckets: list[float] = field(
        default_factory=lambda: [0.0] * (len(LATENCY_BUCKETS_S) + 1)
    )
    latency_sum_s: float = 0.0
    pause_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    changes: Counter[str] = field(default_factory=Counter)
    unclean_stops: int = 0
    localities: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    call_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    call_errors: Counter[str] = field(default_factory=Counter)

    def add_calls(self, stages: Mapping[str, StageCalls]) -> None:
        """Count what a batch called, by stage."""
        for stage, called in stages.items():
            self.calls[stage] += called.count
            self.call_s[stage] += called.seconds
            self.call_errors[stage] += called.errors

    def add(self, report: BatchReport) -> None:
        """Count a committed batch."""
        self.records += report.records
        self.batches += 1
        for phase, seconds in report.phases.items():
            self.phase_s[phase] += seconds
        for name, side in (("source", report.read), ("sink", report.handed_on)):
            if side is not None:
                self._enter(name, side)
        if self.ledger_mismatch is not None:
            nothing = Side(0)
            self.ledger_mismatch += (report.read or nothing).differs(report.handed_on or nothing)
        if report.latency is not None:
            self._add_latency(report)

    def _enter(self, name: str, side: Side) -> None:
        self.ledger[name] += side.records
        if side.xor is not None:  # None: nothing, or records without an identity
            self.ledger_xor[name] = self.ledger_xor.get(name, 0) ^ side.xor
            self.ledger_sum[name] = self.ledger_sum.get(name, 0) + (side.total or 0)

    def _add_latency(self, report: BatchReport) -> None:
        latency = report.latency
        assert latency is not None
        self.clipped += latency.clipped
        self.latency_sum_s += latency.total_s
        weight = report.records / len(latency.slices)
        for age in latency.slices:
            index = sum(age > bound for bound in LATENCY_BUCKETS_S)
            self.latency_buckets[index] += weight


@dataclass(slots=True)
class DriverState:
    """All that can be exported. Write inside `with state.writing() as driver`."""

    settings_generation: int | None = None
    rejected_generation: int | None = None
    run_number: int | None = None
    effective: Mapping[str, float] = field(default_factory=dict)
    record_bytes: float | None = None
    """Bytes of key and value of a record, the mean of the last batch that had any."""
    places: Mapping[str, int] = field(default_factory=dict)
    """In how many nodes and zones the source's partitions are led, by scope."""
    last: CommittedBatch | None = None
    sink_share: float | None = None
    """Share of the work on records that was writing, in the last batch that was timed."""
    running: RunningBatch | None = None
    executors: ExecutorStates | None = None
    load: Load | None = None
    jvms: Mapping[str, JvmTotals] = field(default_factory=dict)
    """By role: driver, executor."""
    uses_python: bool | None = None
    """Whether the query has Python workers at work on the executors."""
    calls: Mapping[str, StageCalls] = field(default_factory=dict)
    """What the last batch called, by stage of pending calls."""
    lag: Mapping[tuple[str, int], PartitionLag] | None = None
    heartbeat: float | None = None
    not_ready: str | None = "starting"
    totals: Totals = field(default_factory=Totals)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @contextmanager
    def writing(self) -> Iterator[DriverState]:
        """Change several fields as one; readers take the same lock."""
        with self._lock:
            yield self

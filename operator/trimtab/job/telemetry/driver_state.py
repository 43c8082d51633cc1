"""What the driver knows now: written by its parts, read by the exporter.

None means unknown. Unknown values are omitted from the export, never zero.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from trimtab.job.batches.ledger import Side
from trimtab.job.batches.progress import SLICES, BatchReport
from trimtab.job.pending.pending_map import StageCalls

LATENCY_BUCKETS_S = (
    0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 3600.0,
)  # fmt: skip

NEW, OLD = "new", "old"
"""The generations of a JVM's heap."""


@dataclass(frozen=True, slots=True)
class CommittedBatch:
    """A batch report, and what Spark does not report about the batch."""

    report: BatchReport
    settings_generation: int | None
    executors_min: int | None
    replayed: bool
    timed: bool = False
    """Whether it was computed before it was written, see `timing`."""


@dataclass(frozen=True, slots=True)
class RunningBatch:
    """The batch that is running."""

    batch_id: int
    since: float
    records: int | None
    executors_min: int | None
    """Fewest executors since it began; None in local mode."""
    replays: int = 0
    """How often it has been replayed with the records it was planned with; 0 if it is new."""
    timed: bool = False


@dataclass(frozen=True, slots=True)
class ExecutorStates:
    """Executor pods by state; pending means requested but not yet registered."""

    requested: int
    running: int
    decommissioning: int

    @property
    def staying(self) -> int:
        """Running and not decommissioning: these get tasks."""
        return self.running - self.decommissioning

    @property
    def pending(self) -> int:
        """Requested but not yet registered."""
        return max(0, self.requested - self.staying)


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """One partition: its end offset, and what is not yet committed.

    `records` and `seconds` are None while the query's position or its age is unknown.
    """

    end: int
    records: int | None
    seconds: float | None
    beyond: bool = False
    """Whether the position is beyond the end: the topic is another one, or has lost its end."""


@dataclass(frozen=True, slots=True)
class Expiry:
    """When Kafka deletes the first record that is not yet committed."""

    seconds: float
    """Until then."""
    kept_s: float
    """How long Kafka keeps a record at the input of now."""


@dataclass(frozen=True, slots=True)
class ExecutorLoad:
    """Two measures of one executor, as ratios; see `sampler.executor_loads`."""

    load: float
    capacity: float | None


@dataclass(frozen=True, slots=True)
class Load:
    """How busy the executors are, as ratios; None before the first measurement."""

    slots_busy: float | None = None
    gc: float | None = None
    cpu: float | None = None
    heap: float | None = None
    executors: Mapping[str, ExecutorLoad] = field(default_factory=dict)


@dataclass(slots=True)
class JvmTotals:
    """All JVMs of one role since this driver started, without the warm-up of each."""

    seconds: float = 0.0
    """Their total running time, so that rates are per JVM."""
    count: dict[str, int] = field(default_factory=lambda: dict.fromkeys((NEW, OLD), 0))
    collecting_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys((NEW, OLD), 0.0))
    heap_limit: int = 0
    heap_peak: int = 0
    """Peak heap, including garbage, of any JVM that is running now."""
    allocated_bytes: float | None = None
    live_bytes: int | None = None
    collector: str | None = None
    new_bytes: int | None = None
    """Size of the new generation if it was set."""


@dataclass(slots=True)
class Totals:
    """Counters since this driver started."""

    records: int = 0
    batches: int = 0
    phase_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    ledger: Counter[str] = field(default_factory=Counter)
    ledger_xor: dict[str, int] = field(default_factory=dict)
    ledger_sum: dict[str, int] = field(default_factory=dict)
    """XOR and sum of the identities by side, if records have one."""
    ledger_mismatch: int | None = None
    arrived: int | None = None
    """Records that the sink has got since it was first looked at, as it counts them itself."""
    missing: int | None = None
    """Of those that committed batches have handed on, how many it does not have."""
    skipped: int = 0
    late: int = 0
    dead_letters: int = 0
    clipped: int = 0
    latency_buckets: list[float] = field(
        default_factory=lambda: [0.0] * (len(LATENCY_BUCKETS_S) + 1)
    )
    latency_sum_s: float = 0.0
    pause_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    changes: Counter[str] = field(default_factory=Counter)
    unclean_stops: int = 0
    failed_tasks: int = 0
    replays: int = 0
    reflex_raises: int = 0
    executors_refused: int = 0
    executors_failed: int = 0
    executors_lost: int = 0
    localities: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    call_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    call_errors: Counter[str] = field(default_factory=Counter)

    def add_dead_letters(self, count: int) -> None:
        """Count the rows with an error of one batch."""
        self.dead_letters += count

    def add_calls(self, stages: Mapping[str, StageCalls]) -> None:
        """Count the calls of a batch, by stage."""
        for stage, called in stages.items():
            self.calls[stage] += called.count
            self.call_s[stage] += called.seconds
            self.call_errors[stage] += called.errors

    def add(self, report: BatchReport) -> None:
        """Count a committed batch."""
        self.records += report.records
        self.batches += 1
        self.skipped += report.skipped
        self.late += report.late
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
        if side.xor is not None:  # None: no records, or records without an identity
            self.ledger_xor[name] = self.ledger_xor.get(name, 0) ^ side.xor
            self.ledger_sum[name] = self.ledger_sum.get(name, 0) + (side.total or 0)

    def _add_latency(self, report: BatchReport) -> None:
        latency = report.latency
        assert latency is not None
        self.clipped += latency.clipped
        self.latency_sum_s += latency.total_s
        for age, (_, share) in zip(latency.slices, SLICES, strict=True):
            index = sum(age > bound for bound in LATENCY_BUCKETS_S)
            self.latency_buckets[index] += report.records * share


@dataclass(slots=True)
class DriverState:
    """Everything that can be exported. Change it inside `with state.writing() as driver`."""

    pipeline_uid: str | None = None
    settings_generation: int | None = None
    rejected_generation: int | None = None
    run_number: int | None = None
    effective: Mapping[str, float] = field(default_factory=dict)
    record_bytes: float | None = None
    """Mean size of a record, key and value, in the last batch that had any."""
    raised_to: int | None = None
    """Executors that the driver has asked for by itself, above its settings."""
    places: Mapping[str, int] = field(default_factory=dict)
    """How many nodes and zones lead partitions of the source, by scope."""
    last: CommittedBatch | None = None
    waits: Mapping[float, float] | None = None
    """How long the last batch's records were in Kafka before its commit, by quantile."""
    sink_share: float | None = None
    """Share of writing in the time of the last timed batch."""
    sinks_s: Mapping[str, float] = field(default_factory=dict)
    """Seconds that each of several sinks took for the last batch."""
    running: RunningBatch | None = None
    stalled_s: float = 0.0
    """Seconds in which the running batch has made no progress."""
    executors: ExecutorStates | None = None
    executors_refused: str = ""
    """Why the API server refuses the executor pods that are missing; empty if it does not."""
    load: Load | None = None
    jvms: Mapping[str, JvmTotals] = field(default_factory=dict)
    """By role: driver, executor."""
    real_time: bool | None = None
    """Whether the query runs in Spark's real-time mode."""
    uses_python: bool | None = None
    """Whether the query uses Python workers on the executors."""
    calls: Mapping[str, StageCalls] = field(default_factory=dict)
    """The calls of the last batch, by stage."""
    lag: Mapping[tuple[str, int], PartitionLag] | None = None
    polled_s: float | None = None
    """When the lag was polled, in seconds since 1970."""
    reads_committed: bool = True
    """Whether the query leaves out what is in open or aborted transactions."""
    start_backlog: int | None = None
    """Records that were in the topics when the driver started, and are not committed yet."""
    expiry: Expiry | None = None
    """None: nothing waits, or it is not known what the topics keep."""
    out_of_sync: int | None = None
    """Partitions of the source whose replicas are not all in sync."""
    heartbeat: float | None = None
    not_ready: str | None = "starting"
    totals: Totals = field(default_factory=Totals)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @contextmanager
    def writing(self) -> Iterator[DriverState]:
        """Change several fields atomically; readers take the same lock."""
        with self._lock:
            yield self

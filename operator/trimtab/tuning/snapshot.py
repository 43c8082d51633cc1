"""The single input of a decision: the policy, the settings, the signals, and the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trimtab.tuning.capacity.configuration import Capacity
from trimtab.tuning.governance.windows import OPEN, Closed
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings


@dataclass(frozen=True, slots=True)
class Batch:
    """The last finished batch, as the driver exported it."""

    run: int
    id: int
    committed_at_s: float
    records: int
    duration_s: float
    overhead_s: float
    """Seconds not spent on records: planning, latest offset, logs, commit."""
    settings_generation: int
    executors_min: int
    since_start: int = 99
    """Batches that the driver finished since it started, this one included."""
    replayed: bool = False
    timed: bool = False
    """It was computed before it was written, so that the driver could time both, which takes
    longer."""
    latency_s: float | None = None
    """The goal's percentile of record latency in this batch."""
    planning_s: float | None = None
    """Seconds in which the driver planned the batch and fetched the latest offsets."""
    state_s: float | None = None
    """Seconds of the commit of state; part of the overhead, like planning."""
    sink_s: float | None = None
    """Seconds of writing the result; part of the work. Spark does not time reading."""
    slowest_sink: str | None = None
    """Which of several sinks takes the longest."""

    @property
    def teaches(self) -> bool:
        """Whether its duration counts: not for a replayed range, and not for a timed batch."""
        return not (self.replayed or self.timed)

    @property
    def key(self) -> str:
        """Identifies the batch, across query restarts too."""
        return f"{self.run}/{self.id}"


EXPIRES_SOON = 0.25
"""Share of the retention: with less left, waiting for a window risks the unread records."""

OVERDUE_S = 120.0
"""Age of a batch in real-time mode from which on it is late: four of the longest intervals."""

STALE_SCRAPES = 3
"""Missed scrapes after which nothing is known about a driver."""


def long_window_s(scrape_s: float) -> float:
    """Seconds of the long input rate: a minute, or four scrapes if that is longer."""
    return max(60.0, 4 * scrape_s)


@dataclass(frozen=True, slots=True)
class Signals:
    """What the metrics say. None means unknown, never zero."""

    sampled_at_s: float
    settings_generation: int
    rejected_generation: int
    batch: Batch | None
    waits_in: str | None = None
    """Which of several sources has the most records waiting."""
    real_time: bool | None = None
    """Whether the query runs in Spark's real-time mode, where records do not wait for a commit."""
    running_s: float = 0.0
    running_records: int = 0
    running_id: int | None = None
    running_replays: int = 0
    """How often the batch under way has restarted as planned; 0: it is new."""
    running_timed: bool = False
    """Whether the driver times the batch under way."""
    running_executors_min: int | None = None
    """Fewest executors since the batch under way began."""
    input_rate: float | None = None
    """Records/s between the last two samples."""
    input_rate_long: float | None = None
    """Records/s over a minute."""
    input_rate_2m: float | None = None
    input_rate_4m: float | None = None
    input_rate_15m: float | None = None
    """Records/s over so many minutes, for forecasts."""
    lag_records: float | None = None
    lag_s: float | None = None
    start_backlog: int | None = None
    """Records that were there when the driver started, and are not committed yet."""
    partitions: int | None = None
    waves: bool = True
    """Whether each task runs on one slot, as in Spark: slots unused by the last wave idle."""
    executors_running: int | None = None
    executors_pending: int | None = None
    raised_to: int | None = None
    """Executors that the driver has asked for by itself, above its settings."""
    slots_busy: float | None = None
    cpu_ratio: float | None = None
    """Share of the tasks' time on a CPU; unknown if Python workers take part."""
    gc_ratio: float | None = None
    """Share of the tasks' time in garbage collection."""
    partition_bytes: float | None = None
    """Bytes of the last batch in each partition of the source, if they are evenly spread."""
    fetch_bytes: float | None = None
    """Bytes of a partition that one fetch may bring, if the user set a size; None: it fits."""
    heap_used: float | None = None
    """The fullest executor heap seen, garbage included."""
    out_of_sync: int | None = None
    """Under-replicated partitions of the source."""
    expires_s: float | None = None
    """Until Kafka deletes the first record that is not yet read."""
    kept_s: float | None = None
    """How long Kafka keeps a record."""
    beyond_end: int | None = None
    """Partitions of the source that end before the query's position."""
    hottest_share: float | None = None
    """Share of the input in its busiest partition."""
    pending_calls: float | None = None
    """Calls in flight in stages that wait for a remote service."""
    pending_call_s: float | None = None
    """Seconds per such call."""
    executor_load: float | None = None
    """Mean over the executors of Storm's load: slots in use or waited for, at most 1."""
    executor_capacity: float | None = None
    """Mean over the executors of Storm's capacity: task time per slot time of a minute."""
    capacity_spread: tuple[float, float] | None = None
    """The lowest and the highest capacity of an executor."""
    scope_load: Mapping[str, float] = field(default_factory=dict)
    """Mean load of the executors that each scope has, whichever is in force."""
    remote_share: float | None = None
    """Share of the tasks that ran away from their data."""
    state_rows: float | None = None
    """Keys in the state of the query; None if it keeps no state."""
    pause_s: Mapping[str, float] = field(default_factory=dict)
    """Mean measured pause in seconds of the changes so far, by how they are applied."""

    @property
    def expiring(self) -> bool:
        """Whether Kafka will soon delete records that are not yet read. Unknown is not."""
        if self.expires_s is None or self.kept_s is None:
            return False
        return self.expires_s < EXPIRES_SOON * self.kept_s

    @property
    def idle(self) -> bool:
        """Whether nothing came in for a minute, nothing waits and nothing runs. Unknown is not."""
        known = (self.input_rate, self.input_rate_long, self.lag_records)
        return not any(value != 0 for value in known) and not self.running_records


@dataclass(frozen=True, slots=True)
class Observed:
    """The latency that a goal is held against, in seconds, and what shows it."""

    seconds: float
    words: str


def observed_latency(signals: Signals, quantile: float) -> Observed | None:
    """The largest of what the last batch, the running batch and the waiting records show.

    The last batch alone would look well while the next one hangs. The records of the running batch
    are at least as old as it is. Of the waiting records the age of the oldest is known; if they
    came in evenly, their percentile is that share of it. None: nothing is known, or nothing came.
    """
    percentile = f"p{round(quantile * 100)}"
    found = []
    if signals.batch and signals.batch.latency_s is not None:
        latency_s = signals.batch.latency_s
        found.append(Observed(latency_s, f"{percentile} {latency_s:.1f} s"))
    if signals.real_time and signals.running_s < OVERDUE_S:
        return found[0] if found else None
    if signals.running_s and (signals.running_records or signals.lag_records):
        running_s = signals.running_s
        found.append(Observed(running_s, f"the running batch has taken {running_s:.0f} s so far"))
    if signals.lag_s:
        waiting_s = quantile * signals.lag_s
        words = f"records wait for up to {signals.lag_s:.1f} s, {percentile} {waiting_s:.1f} s"
        found.append(Observed(waiting_s, words))
    return max(found, key=lambda each: each.seconds, default=None)


@dataclass(frozen=True, slots=True)
class ExternalConstraints:
    """Reasons outside a pipeline, beyond its metrics, not to make a change."""

    closed: Closed = OPEN
    """Why no window for changes is open."""
    others_changing: str = ""
    """A message saying that enough other pipelines are in the middle of a change."""
    topic_fixed: str = ""
    """A message saying why the source's topic must keep its partitions; empty if it need not."""
    executors_missing: str = ""
    """A message saying why executors are missing; empty if none is, or it is not known."""
    executors_refused: bool = False
    """Whether they are refused, so that waiting will not help."""
    approved: int | None = None
    """Generation of the recommendation that somebody has approved."""
    budget_executors: int | None = None
    """Most executors that a budget shared with other pipelines leaves for this one."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that one decision may depend on."""

    now_s: float
    policy: Policy
    settings: Settings
    signals: Signals | None
    no_signals: str = ""
    """A message saying why there are no signals."""
    constraints: ExternalConstraints = ExternalConstraints()

    @property
    def capacity(self) -> Capacity:
        """What the settings in force can run at once."""
        partitions = self.signals.partitions if self.signals else None
        return self.policy.capacity(self.settings, partitions)

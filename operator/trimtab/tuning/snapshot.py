"""The one input of a decision: what is asked, what is set, what is seen, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trimtab.tuning.capacity.configuration import Capacity
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
    """Seconds outside the part that works on records: planning, latest offset, logs, commit."""
    settings_generation: int
    executors_min: int
    since_start: int = 99
    """Batches that the driver finished since it started, this one included."""
    replayed: bool = False
    timed: bool = False
    """It was worked out before it was written, so that the driver could time both: it took longer
    than it would have."""
    latency_s: float | None = None
    """The goal's percentile of record latency in this batch."""
    planning_s: float | None = None
    """Seconds in which the driver planned the batch and asked for the latest offsets."""
    state_s: float | None = None
    """Seconds of the commit of state; a part of the overhead, as the planning."""
    sink_s: float | None = None
    """Seconds of writing the result; a part of the work. Of reading Spark keeps no time."""

    @property
    def teaches(self) -> bool:
        """Whether its duration says anything: not of an old range, nor of a timed batch."""
        return not (self.replayed or self.timed)

    @property
    def key(self) -> str:
        """Tells one batch from another, over query restarts too."""
        return f"{self.run}/{self.id}"


STALE_SCRAPES = 3
"""A driver that was not heard of for more than so many scrapes: nothing is known."""


def long_window_s(scrape_s: float) -> float:
    """Seconds of the long input rate: a minute, or four scrapes if that is longer."""
    return max(60.0, 4 * scrape_s)


@dataclass(frozen=True, slots=True)
class Signals:
    """What the metrics say. None is unknown, never zero."""

    sampled_at_s: float
    settings_generation: int
    rejected_generation: int
    batch: Batch | None
    running_s: float = 0.0
    running_records: int = 0
    running_id: int | None = None
    running_replays: int = 0
    """How often the batch under way has begun again as it was planned; 0: it is new."""
    running_timed: bool = False
    """The batch under way is one that the driver times."""
    running_executors_min: int | None = None
    """Fewest executors since the batch under way began."""
    input_rate: float | None = None
    """Records/s between the last two samples."""
    input_rate_long: float | None = None
    """Records/s over a minute."""
    lag_records: float | None = None
    lag_s: float | None = None
    partitions: int | None = None
    waves: bool = True
    """Whether tasks run whole, as Spark's do: a slot that the last wave leaves over idles."""
    executors_running: int | None = None
    executors_pending: int | None = None
    slots_busy: float | None = None
    cpu_ratio: float | None = None
    """Share of the tasks' time on a CPU; unknown where Python workers take part."""
    gc_ratio: float | None = None
    """Share of the tasks' time in garbage collection."""
    heap_used: float | None = None
    """The fullest that an executor's heap was seen, garbage included."""
    out_of_sync: int | None = None
    """Partitions of the source with fewer replicas in sync than they should have."""
    hottest_share: float | None = None
    """Share of the input that comes in by its busiest partition."""
    pending_calls: float | None = None
    """Calls under way in stages that wait for a remote service."""
    pending_call_s: float | None = None
    """Seconds that such a call takes."""
    executor_load: float | None = None
    """Mean over the executors of Storm's load: slots in use or waited for, at most 1."""
    executor_capacity: float | None = None
    """Mean over the executors of Storm's capacity: task time per slot time of a minute."""
    capacity_spread: tuple[float, float] | None = None
    """The least and the most of the executors' capacities."""
    places: Mapping[str, int] = field(default_factory=dict)
    """In how many nodes and zones the source's partitions are led, by scope; 0 is not known."""
    remote_share: float | None = None
    """Share of the tasks that ran away from their data."""
    state_rows: float | None = None
    """Keys in the state of the query; None where it keeps none."""
    pause_s: Mapping[str, float] = field(default_factory=dict)
    """Mean measured pause in seconds of the changes so far, by how they are applied."""


@dataclass(frozen=True, slots=True)
class ExternalConstraints:
    """What is going on around a pipeline, beyond its metrics: reasons to keep still."""

    window_closed: str = ""
    """Why no window for changes is open now, in words; empty where one is, or none is asked."""
    topic_fixed: str = ""
    """Why the source's topic must keep its partitions, in words; empty where it need not."""
    budget_executors: int | None = None
    """Most executors that a budget shared with other pipelines leaves to this one."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that one decision may look at."""

    now_s: float
    policy: Policy
    settings: Settings
    signals: Signals | None
    no_signals: str = ""
    """Why there are no signals, in words."""
    constraints: ExternalConstraints = ExternalConstraints()

    @property
    def capacity(self) -> Capacity:
        """What the settings in force can run at once."""
        partitions = self.signals.partitions if self.signals else None
        return self.policy.capacity(self.settings, partitions)

"""The one input of a decision: what is asked, what is set, what is seen, and when."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from trimtab.api.knobs import MAX_OFFSETS, SCOPE, TRIGGER, KnobValues
from trimtab.api.limits import ExecutorResources, Limits
from trimtab.api.pipeline import (
    Bounds,
    Goal,
    Mode,
    StreamPipelineSpec,
    Tuning,
)
from trimtab.tuning.settings import Settings


@dataclass(frozen=True, slots=True)
class Policy:
    """What a person asked for: the goal, the hard limits, and how the tuner may act.

    Exactly one of `target_s` (with `quantile`), `rate` (records/s) and `maximum` is given.
    """

    target_s: float | None
    quantile: float
    rate: float | None
    catch_up_s: float
    min_executors: int
    max_executors: int
    slots_per_executor: int = 1
    max_cores: int | None = None
    """Most slots that an executor may be given; None: no more than the spec says."""
    most_slots: int | None = None
    """Most slots of all executors, by their cores and their memory."""
    own_cores: int | None = None
    """Slots of an executor by the spec, where those in force are others."""
    mode: Mode = Mode.AUTO
    pinned: Mapping[str, float] = field(default_factory=dict)
    higher: float = 0.8
    lower: float = 0.5
    dwell_up: int = 2
    dwell_down: int = 6
    maximum: bool = False
    """As many records/s as the limits allow."""
    max_tasks: int | None = None
    """Most tasks that partitions may be split into; None: none is split."""
    max_topic_partitions: int | None = None
    """Most partitions that the source's topic may be raised to; None: it is not raised."""
    locality: Bounds | None = None
    """Bounds of the executors' mean load for the locality ladder; None: it is switched off."""
    scope_said: bool = False
    """A person named a scope, to begin with or to keep."""
    sends: bool = False
    """The results go to Kafka by a producer whose knobs may be moved."""
    locked: frozenset[str] = frozenset()
    """Knobs that a policy above this pipeline keeps where they are."""
    pauses_per_hour: int | None = None
    """Most changes in an hour that pause the pipeline."""

    @classmethod
    def of(cls, spec: StreamPipelineSpec) -> Policy:
        """The policy that a spec states; every sink is a Kafka topic."""
        stated = cls.stated(spec.goal, spec.limits, spec.tuning, spec.resources.executor)
        return replace(stated, sends=True)

    @classmethod
    def stated(
        cls, goal: Goal, limits: Limits, tuning: Tuning, executor: ExecutorResources
    ) -> Policy:
        """The policy that these parts of a spec, or of a scenario, state."""
        latency, rate = goal.latency, goal.throughput
        catch_up_s = latency.catch_up if latency else rate.catch_up if rate else math.inf
        most = limits.most_executors(executor)
        return cls(
            target_s=latency.target if latency else None,
            quantile=(latency.percentile if latency else 95) / 100,
            rate=float(rate.records_per_second) if rate and rate.records_per_second else None,
            maximum=bool(rate and rate.max),
            catch_up_s=catch_up_s,
            min_executors=min(limits.executors.min, most),
            max_executors=most,
            slots_per_executor=executor.cores,
            max_cores=limits.executor_cores,
            most_slots=limits.most_slots(executor),
            max_tasks=_most_tasks(limits, tuning),
            max_topic_partitions=limits.topic_partitions,
            locality=tuning.locality.bounds if tuning.locality.enabled else None,
            scope_said=any(SCOPE.name in v.numbers() for v in _said(tuning)),
            mode=tuning.mode,
            pinned=tuning.pinned.numbers() if tuning.pinned else {},
            higher=tuning.bounds.higher,
            lower=tuning.bounds.lower,
            dwell_up=tuning.dwell.up,
            dwell_down=tuning.dwell.down,
        )

    def at_cores(self, cores: int | None) -> Policy:
        """The policy for executors of so many slots each; None: of those that the spec says."""
        own = self.own_cores or self.slots_per_executor
        slots, most = cores or own, self.max_executors
        if self.most_slots is not None:
            most = min(most, self.most_slots // slots)
        return replace(
            self,
            own_cores=own,
            slots_per_executor=slots,
            min_executors=min(self.min_executors, most),
            max_executors=most,
        )

    @property
    def widest(self) -> int:
        """Most task slots that any settings within the limits have."""
        cores = range(
            self.slots_per_executor, max(self.slots_per_executor, self.max_cores or 0) + 1
        )
        return max(self.at_cores(c).max_executors * c for c in cores)

    def slots(self, settings: Settings) -> int:
        """Task slots of all executors."""
        return settings.executors * (settings.cores or self.own_cores or self.slots_per_executor)

    def clamp(self, settings: Settings) -> Settings:
        """The settings with limits and pinned values enforced; limits win over pins."""
        pinned = settings.with_numbers(self.pinned)
        cores = min(pinned.cores or 0, self.max_cores or 0)
        chosen = cores if cores > (self.own_cores or self.slots_per_executor) else None
        within = self.at_cores(chosen)
        executors = min(max(pinned.executors, within.min_executors), within.max_executors)
        tasks = None if self.max_tasks is None else min(pinned.tasks(None), self.max_tasks)
        asked, most = pinned.topic_partitions, self.max_topic_partitions
        asked = None if asked is None or most is None else min(asked, most)
        scope = pinned.scope
        if self.locality is not None:
            scope = scope or 0  # the ladder begins near
        elif not self.scope_said:
            scope = None
        return replace(
            pinned,
            executors=executors,
            min_partitions=tasks,
            scope=scope,
            topic_partitions=asked,
            cores=chosen,
        )

    def goal_text(self) -> str:
        """The goal as a column shows it."""
        if self.target_s is not None:
            return f"p{round(self.quantile * 100)} {TRIGGER.format(self.target_s)}"
        return "max" if self.maximum else f"{self.rate:g}/s"


def _most_tasks(limits: Limits, tuning: Tuning) -> int | None:
    """Most tasks that a person allows, be it only by naming a number to begin with or to keep."""
    said = [v.min_partitions for v in _said(tuning)]
    return limits.tasks or max((n for n in said if n), default=None)


def _said(tuning: Tuning) -> list[KnobValues]:
    return [values for values in (tuning.initial, tuning.pinned) if values]


def initial_settings(spec: StreamPipelineSpec) -> Settings:
    """Where a pipeline begins: tuning.initial, else the knobs' defaults, clamped."""
    start = Settings(
        executors=spec.limits.executors.min,
        trigger_s=TRIGGER.default,
        max_offsets=int(MAX_OFFSETS.default),
    )
    if spec.tuning.initial:
        start = start.with_numbers(spec.tuning.initial.numbers())
    return Policy.of(spec).clamp(start)


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
    fetch_s: float | None = None
    sink_s: float | None = None
    """Seconds of reading from Kafka, and of writing the result; parts of the work."""

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
    executors_running: int | None = None
    executors_pending: int | None = None
    slots_busy: float | None = None
    cpu_ratio: float | None = None
    """Share of the tasks' time on a CPU; unknown where Python workers take part."""
    gc_ratio: float | None = None
    """Share of the tasks' time in garbage collection."""
    heap_used: float | None = None
    """The fullest that an executor's heap was seen, garbage included."""
    hottest_share: float | None = None
    """Share of the input that comes in by its busiest partition."""
    pending_calls: float | None = None
    """Calls under way in stages that wait for a remote service."""
    pending_call_s: float | None = None
    """Seconds that such a call takes."""
    executor_load: float | None = None
    """Mean over the executors of seed 002's load: slots in use or waited for, at most 1."""
    executor_capacity: float | None = None
    """Mean over the executors of seed 002's capacity: task time per slot time of a minute."""
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
class Surroundings:
    """What is going on around a pipeline, beyond its metrics: reasons to keep still."""

    window_closed: str = ""
    """Why no window for changes is open now, in words; empty where one is, or none is asked."""
    rebalancing: str = ""
    """What Kafka is moving just now, in words."""
    owners: Mapping[str, str] = field(default_factory=dict)
    """Another controller by the knob that it moves (an HPA, KEDA, dynamic allocation)."""
    checkpoint_pins: frozenset[str] = frozenset()
    """Knobs whose value the checkpoint has fixed."""
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
    around: Surroundings = Surroundings()

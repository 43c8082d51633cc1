"""What a user asks of one pipeline: goal, limits and tuning, as the control core needs them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from trimtab.api.knobs import EXECUTORS, SCOPE, TRIGGER, KnobValues
from trimtab.api.ranges import Range
from trimtab.api.v1alpha1.goal import Goal
from trimtab.api.v1alpha1.limits import ExecutorResources, Limits
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.tuning import Bounds, Mode, Profile, Tuning
from trimtab.tuning.capacity.configuration import Capacity
from trimtab.tuning.profiles import PROFILES
from trimtab.tuning.settings import Settings


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user asked for: the goal, the hard limits, and how the tuner may act.

    Exactly one of `target_s` (with `quantile`), `rate` (records/s) and `maximum` is set.
    """

    target_s: float | None
    quantile: float
    rate: float | None
    catch_up_s: float
    min_executors: int
    max_executors: int
    cores: int = 1
    """Task slots per executor in the spec."""
    max_cores: int | None = None
    """Most slots per executor; None: no more than the spec says."""
    most_slots: int | None = None
    """Most slots of all executors together, limited by cores and memory."""
    mode: Mode = Mode.AUTO
    pinned: Mapping[str, float] = field(default_factory=dict)
    higher: float = 0.8
    lower: float = 0.5
    even: float = 0.0
    """How far both bounds move up at most where batches are even."""
    prompt: bool = False
    """Whether the trigger is as short as the slots allow, and not as long as the goal allows."""
    dwell_up: int = 2
    dwell_down: int = 6
    maximum: bool = False
    """As many records/s as the limits allow."""
    max_tasks: int | None = None
    """Most tasks that partitions may be split into; None: no splitting."""
    max_topic_partitions: int | None = None
    """Most partitions that the source's topic may be given; None: it keeps its own."""
    locality: Bounds | None = None
    """Bounds of the executors' mean load for the locality ladder; None: the ladder is off."""
    scope_said: bool = False
    """Whether the user set a scope, initial or pinned."""
    sends: bool = False
    """Whether the results go to Kafka through a producer whose knobs may be moved."""
    stores: bool = False
    """Whether the results go to a table or files, whose writers may be moved."""
    locked: frozenset[str] = frozenset()
    """Knobs that a policy above this pipeline locks."""
    pauses_per_hour: int | None = None
    """Most changes per hour that pause the pipeline."""
    ranges: Mapping[str, Range] = field(default_factory=dict)
    """What policies above this pipeline allow each knob, beside the limits."""
    approval: frozenset[str] = frozenset()
    """Knobs whose changes wait for approval, although the mode is Auto."""
    conflict: str = ""
    """A message saying what is wrong with those policies; empty if nothing is."""
    by_broker: bool = False
    """Whether latency counts from when a record was in Kafka, instead of from its timestamp."""
    reflex: bool = False
    """Whether the driver may raise executors by itself."""
    forecast: bool = True
    """Whether the tuner plans for the input that is expected, and not only for what is seen."""
    execution: str = "microBatch"
    """What the spec asks for: `microBatch`, `realTime` or `auto`."""
    why_batches: str = ""
    """What of the spec keeps `auto` from real-time mode; empty if nothing does."""
    idle_after_s: float | None = None
    """Seconds without input after which no executor runs; None: some always do."""

    def pace_s(self, trigger_s: float) -> float:
        """Seconds that a batch may take at a trigger and still keep up.

        The trigger; where it is to be short, as long as batches that follow each other at once
        meet the goal: they wait q of a batch and take one.
        """
        if not self.prompt or self.target_s is None:
            return trigger_s
        return max(trigger_s, self.higher * self.target_s / (1 + self.quantile))

    @classmethod
    def of(cls, spec: StreamPipelineSpec) -> Policy:
        """The policy in a spec."""
        stated = cls.stated(spec.goal, spec.limits, spec.tuning, spec.resources.executor)
        return stated.of_query(spec)

    def of_query(self, spec: StreamPipelineSpec) -> Policy:
        """The same with what the query in the spec adds.

        In real-time mode the lag grows until an interval ends, so no reflex can go by it.
        """
        return replace(
            self,
            sends=spec.results.sends,
            stores=spec.results.stores,
            reflex=self.reflex and spec.wants is None,
            execution=spec.execution,
            why_batches=spec.why_not_real_time if spec.execution == "auto" else "",
        )

    @classmethod
    def stated(
        cls, goal: Goal, limits: Limits, tuning: Tuning, executor: ExecutorResources
    ) -> Policy:
        """The policy in these parts of a spec or scenario."""
        latency, rate = goal.latency, goal.throughput
        profile = PROFILES[tuning.profile or Profile.BALANCED]
        higher, lower = profile.band(tuning.bounds)
        said_s = latency.catch_up if latency else rate.catch_up if rate else math.inf
        most = limits.most_executors(executor)
        return cls(
            target_s=latency.target if latency else None,
            quantile=(latency.percentile if latency else 95) / 100,
            rate=float(rate.records_per_second) if rate and rate.records_per_second else None,
            by_broker=latency is not None and latency.clock == "broker",
            maximum=bool(rate and rate.max),
            catch_up_s=profile.catch_up_s if said_s is None else said_s,
            min_executors=min(max(1, limits.executors.min), most),
            idle_after_s=limits.executors.idle_after_s,
            max_executors=most,
            cores=executor.cores,
            max_cores=limits.executor_cores,
            most_slots=limits.most_slots(executor),
            max_tasks=_most_tasks(limits, tuning),
            max_topic_partitions=limits.topic_partitions,
            locality=tuning.locality.bounds if tuning.locality.enabled else None,
            scope_said=any(SCOPE.name in v.numbers() for v in _said(tuning)),
            mode=tuning.mode,
            forecast=tuning.forecast is not False,
            pinned=tuning.pinned.numbers() if tuning.pinned else {},
            approval=frozenset(tuning.approval),
            higher=higher,
            lower=lower,
            even=profile.room(tuning.bounds),
            prompt=profile.prompt,
            dwell_up=tuning.dwell.up or profile.up,
            dwell_down=tuning.dwell.down or profile.down,
            reflex=tuning.reflex or False,
        )

    @property
    def moves_executors(self) -> bool:
        """Whether the number of executors may change without a person."""
        return self.mode is Mode.AUTO and not self.fixes(EXECUTORS.name)

    def fixes(self, knob: str) -> bool:
        """Whether a knob must not be moved, because it is pinned or locked."""
        return knob in self.pinned or knob in self.locked

    def needs_approval(self, now: Settings, wanted: Settings) -> bool:
        """Whether a person must approve a change."""
        return self.mode is Mode.RECOMMEND or bool(now.moved(wanted) & self.approval)

    def capacity(self, settings: Settings, partitions: int | None = None) -> Capacity:
        """What some settings can run at once, for a source with `partitions` partitions."""
        return Capacity(
            settings.executors, settings.cores or self.cores, settings.tasks(partitions)
        )

    def executor_cores(self, settings: Settings) -> int:
        """The task slots of the executors that some settings ask for."""
        return settings.executors * (settings.cores or self.cores)

    def executors_of(self, cores: int) -> tuple[int, int]:
        """The fewest and the most executors with `cores` cores that the limits allow."""
        most = self.max_executors
        if self.most_slots is not None:
            most = min(most, self.most_slots // cores)
        return min(self.min_executors, most), most

    def wider(self, cores: int | None) -> int | None:
        """The chosen cores per executor, within the limit; None: those of the spec."""
        within = min(cores or 0, self.max_cores or 0)
        return within if within > self.cores else None

    def most_slots_from(self, cores: int) -> int:
        """The most task slots within the limits, with at least `cores` cores per executor."""
        widths = range(cores, max(cores, self.max_cores or 0) + 1)
        return max(self.executors_of(width)[1] * width for width in widths)

    def goal_text(self) -> str:
        """The goal as shown in a column."""
        if self.target_s is not None:
            return f"p{round(self.quantile * 100)} {TRIGGER.format(self.target_s)}"
        return "max" if self.maximum else f"{self.rate:g}/s"


def _most_tasks(limits: Limits, tuning: Tuning) -> int | None:
    """Most tasks that the user allows, possibly just by an initial or pinned number."""
    said = [v.min_partitions for v in _said(tuning)]
    return limits.tasks or max((n for n in said if n), default=None)


def _said(tuning: Tuning) -> list[KnobValues]:
    return [values for values in (tuning.initial, tuning.pinned) if values]

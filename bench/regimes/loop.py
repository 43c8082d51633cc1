"""Runs the operator's law on one driver's own metrics, without a cluster or Prometheus."""

from __future__ import annotations

import re
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from trimtab.api.reasons import Reason
from trimtab.reconcile.observe.gather import DriverMetrics
from trimtab.reconcile.observe.signals import Missing, signals
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.decision import Decision
from trimtab.tuning.law import decide
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Snapshot, long_window_s

SCRAPE_S = 1.0
_LABEL = re.compile(r'\w+="([^"]*)"')


class Pipeline(Protocol):
    """A running driver."""

    def metrics(self) -> dict[str, float]:
        """Its samples, `name` or `name{label="x"}`; empty if it does not answer."""

    def apply(self, settings: Settings) -> int:
        """Give it new settings; returns their generation."""


@dataclass(frozen=True, slots=True)
class Size:
    """The measurements of one batch."""

    limit: int
    records: int
    seconds: float

    @property
    def full(self) -> bool:
        """Whether it had about as many records as it could."""
        return self.records >= 0.9 * self.limit


@dataclass(slots=True)
class Story:
    """What the law did with the pipeline."""

    decisions: list[Decision] = field(default_factory=list)
    batches: list[Size] = field(default_factory=list)
    final: Settings | None = None

    @property
    def by_limit(self) -> dict[int, Typical]:
        """The typical batch of each limit that was tried, ascending."""
        return typical(self.batches, self.final.trigger_s if self.final else 0.0)


@dataclass(frozen=True, slots=True)
class Typical:
    """The median of the full batches of one limit; of all its batches if none was full."""

    batches: int
    records: float
    seconds: float
    trigger_s: float

    @property
    def rate(self) -> float:
        """Records/s: a batch begins when the one before has ended, at each trigger at most."""
        return self.records / max(self.seconds, self.trigger_s)


def typical(batches: Sequence[Size], trigger_s: float) -> dict[int, Typical]:
    """The typical batch of each limit at a trigger, ascending."""
    found = {}
    for limit in sorted({batch.limit for batch in batches}):
        seen = [batch for batch in batches if batch.limit == limit]
        full = [batch for batch in seen if batch.full] or seen
        records = statistics.median(batch.records for batch in full)
        seconds = statistics.median(batch.seconds for batch in full)
        found[limit] = Typical(len(full), records, seconds, trigger_s)
    return found


class Sight:
    """One driver's samples, as the queries would return them."""

    def __init__(self) -> None:
        self._inputs: deque[tuple[float, float]] = deque()

    def seen(self, samples: Mapping[str, float], now_s: float) -> DriverMetrics:
        """The current figures; the executor of Spark's local mode counts as one."""
        seen = DriverMetrics()
        inputs, lags = [], []
        for key, value in samples.items():
            name, _, labels = key.partition("{")
            if name == "partition_input_total":
                inputs.append(value)
            elif name == "lag_records":
                lags.append(value)
            else:
                seen.values[name, "/".join(_LABEL.findall(labels))] = value
        ones = [("executors", "running"), ("batch_executors_min", "")]
        ones.append(("batch_running_executors_min", ""))
        seen.values |= dict.fromkeys(ones, 1.0)
        seen.values["executors", "pending"] = 0.0
        if inputs and lags:
            seen.values["lag_records", ""], seen.values["partitions", ""] = sum(lags), len(inputs)
            self._rates(seen, sum(inputs), now_s)
        return seen

    def _rates(self, seen: DriverMetrics, total: float, now_s: float) -> None:
        self._inputs.append((now_s, total))
        while now_s - self._inputs[0][0] > long_window_s(SCRAPE_S):
            self._inputs.popleft()
        for name, since in (("input_rate", -2), ("input_rate_long", 0)):
            if len(self._inputs) > 1:
                at_s, before = self._inputs[since]
                seen.values[name, ""] = (total - before) / max(now_s - at_s, 1e-3)


def drive(
    pipeline: Pipeline, policy: Policy, memory: ControllerState, most_s: float,
    tell: Callable[[Decision], None] = lambda _: None,
) -> Story:  # fmt: skip
    """Let the law tune a driver that runs with the memory's settings, until nothing more helps.

    Takes at most `most_s` seconds; `tell` gets each decision that moves something.
    """
    sight, story = Sight(), Story()
    deadline, last = time.time() + most_s, -1
    limits = {memory.generation: memory.settings.max_offsets}
    while time.time() < deadline:
        time.sleep(SCRAPE_S)
        now_s = time.time()
        found = signals(sight.seen(pipeline.metrics(), now_s), policy.quantile, now_s, SCRAPE_S)
        if isinstance(found, Missing):
            continue
        if found.batch and found.batch.id != last:
            last, limit = found.batch.id, limits.get(found.batch.settings_generation)
            if limit and not found.batch.replayed:
                story.batches.append(Size(limit, found.batch.records, found.batch.duration_s))
        decision, after = decide(Snapshot(now_s, policy, memory.settings, found), memory)
        for told in decision.told:
            if told.moves or told.changes:
                story.decisions.append(told)
                tell(told)
        if after.generation != memory.generation and after.settings != memory.settings:
            after = replace(after, generation=pipeline.apply(after.settings))
            if after.trial:
                trial = replace(after.trial, generation=after.generation)
                after = replace(after, trial=trial)
        memory = after
        limits[memory.generation] = memory.settings.max_offsets
        if decision.reason in {Reason.SATURATED, Reason.FAILED_BEFORE} and memory.trial is None:
            break
    story.final = memory.settings
    return story


def measure(
    pipeline: Pipeline, settings: Settings, limits: Sequence[int], batches: int, most_s: float
) -> list[Size]:
    """What batches take at limits that are set by hand: `batches` full ones of each.

    Takes at most `most_s` seconds for each limit.
    """
    sizes: list[Size] = []
    for limit in limits:
        generation = pipeline.apply(replace(settings, max_offsets=limit))
        deadline, seen = time.time() + most_s, set[int]()
        while len(seen) < batches and time.time() < deadline:
            time.sleep(SCRAPE_S)
            samples = pipeline.metrics()
            number, ran_at = samples.get("batch_id"), samples.get("batch_settings_generation")
            if number is None or number in seen or ran_at != generation:
                continue
            seconds = samples['batch_duration_seconds{phase="total"}']
            size = Size(limit, int(samples["batch_records"]), seconds)
            if size.full:
                seen.add(int(number))
                sizes.append(size)
    return sizes

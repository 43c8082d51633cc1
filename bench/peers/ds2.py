"""DS2: parallelism from true processing rates, for a chain of operators and for one operator.

Source: strymon-system/ds2 at e3decca (2022-11-14), controller/src/policy/scaling.rs,
controller/src/bin/manager.rs and controller/config/ds2.toml; Apache-2.0 or MIT. Paper: Kalavri
et al., "Three steps is all you need", OSDI 2018.

With micro-batches, the useful time of an executor is assumed to be the whole batch, including its
overhead. This assumption suits DS2 best: without the overhead (`whole_batch` false) it ends too
small, because its law has no cost that more executors do not share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.peers.controller import Limits
from bench.peers.window import Period, Window

from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Batch, Signals


@dataclass(frozen=True, slots=True)
class Parameters:
    """The sample values of ds2.toml, and the defaults of what it leaves open."""

    policy_interval_s: float = 10
    warm_up_intervals: int = 2
    """Intervals to skip after a change."""
    scaling_factor: float = 0
    """Share of additional instances above the optimum."""
    whole_batch: bool = True
    """Count the whole batch as useful time, not only the part without its overhead."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator; rates in records/s of useful time, summed over its instances."""

    instances: int
    processing: float
    output: float = 0


def optimal(source_rate: float, chain: Sequence[Operator]) -> list[float]:
    """Instances that each operator of a chain needs to keep up with the sources, unrounded."""
    needed, arriving = [], source_rate
    for operator in chain:
        instances = arriving / (operator.processing / operator.instances)
        arriving = operator.output * instances / operator.instances
        needed.append(instances)
    return needed


def rounded(needed: Sequence[float], scaling_factor: float = 0) -> list[int]:
    """Whole instances, deliberately over-provisioned by the factor."""
    return [math.ceil(n * (1 + scaling_factor)) for n in needed]


def significant(before: Sequence[int], after: Sequence[int]) -> bool:
    """Whether to act: an operator grows, or shrinks by more than one instance."""
    return any(b < a or b - 1 > a for b, a in zip(before, after, strict=True))


class Ds2:
    """The single-operator form: the pipeline is one operator behind its source."""

    def __init__(self, limits: Limits, parameters: Parameters) -> None:
        self.limits, self.parameters = limits, parameters
        self.period = Period(parameters.policy_interval_s)
        self.window = Window(parameters.policy_interval_s)
        self.skip = 0

    def decide(self, now_s: float, signals: Signals | None, settings: Settings) -> Settings:
        """Evaluate the model once per policy interval."""
        if signals:
            self.window.add(now_s, signals)
        if not self.period.due(now_s):
            return settings
        if self.skip:
            self.skip -= 1
            return settings
        arriving = self.window.mean(lambda s: s.input_rate)
        worked = [b for b in self.window.batches() if b.records and b.executors_min]
        if arriving is None or not worked:
            return settings
        each = sum(b.records for b in worked) / sum(self._useful_s(b) for b in worked)
        operator = Operator(settings.executors, each * settings.executors)
        wanted = rounded(optimal(arriving, [operator]), self.parameters.scaling_factor)
        target = self.limits.clamp(wanted[0])
        if not significant([settings.executors], [target]):
            return settings
        self.skip = self.parameters.warm_up_intervals
        return replace(settings, executors=target)

    def _useful_s(self, batch: Batch) -> float:
        """Executor-seconds that the batch's records took."""
        left_out_s = 0.0 if self.parameters.whole_batch else batch.overhead_s
        return max(1e-3, batch.duration_s - left_out_s) * batch.executors_min

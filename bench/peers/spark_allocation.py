"""Spark's own streaming dynamic allocation (DStreams), with its rate limit as an option.

Source: apache/spark at 062d4ae, streaming/src/main/scala/org/apache/spark/streaming/scheduler/
ExecutorAllocationManager.scala, core's internal/config/Streaming.scala; Apache-2.0. Structured
Streaming has no law of its own. The batch duration is the trigger; a batch that exceeds it delays
the next one by the difference, which stands for the scheduling delay. The estimated rate becomes
the batch limit, and is computed once per observed batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from bench.peers.controller import Limits
from bench.peers.spark_pid import PidRateEstimator
from bench.peers.window import Period

from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Batch, Signals


@dataclass(frozen=True, slots=True)
class Parameters:
    """Defaults of spark.streaming.dynamicAllocation.* and spark.streaming.backpressure.enabled."""

    scaling_interval_s: float = 60
    scaling_up_ratio: float = 0.9
    scaling_down_ratio: float = 0.3
    backpressure: bool = False


class SparkAllocation:
    """Adds executors by the mean batch time over the trigger, removes one at a time."""

    def __init__(self, limits: Limits, parameters: Parameters) -> None:
        self.limits, self.parameters = limits, parameters
        self.period = Period(parameters.scaling_interval_s)
        self.seen: dict[str, Batch] = {}
        self.estimator: PidRateEstimator | None = None
        self.last = ""

    def decide(self, now_s: float, signals: Signals | None, settings: Settings) -> Settings:
        """Add the newest batch; manage the allocation once per interval."""
        batch = signals.batch if signals else None
        wanted = settings
        if batch and batch.key != self.last:
            self.last = batch.key
            self.seen[batch.key] = batch
            wanted = self._limited(batch, settings) if self.parameters.backpressure else settings
        if not self.period.due(now_s):
            return wanted
        times_ms = [int(1000 * b.duration_s) for b in self.seen.values()]
        self.seen = {}
        running = signals.executors_running if signals else None
        if not times_ms or running is None:
            return wanted
        ratio = sum(times_ms) // len(times_ms) / (1000 * settings.trigger_s)
        return replace(wanted, executors=self._target(ratio, running, settings.executors))

    def _target(self, ratio: float, running: int, requested: int) -> int:
        if ratio >= self.parameters.scaling_up_ratio:
            return self.limits.clamp(running + max(math.floor(ratio + 0.5), 1))
        if ratio <= self.parameters.scaling_down_ratio:
            return self.limits.clamp(running - 1)
        return requested

    def _limited(self, batch: Batch, settings: Settings) -> Settings:
        interval_ms = max(1, round(1000 * settings.trigger_s))
        if self.estimator is None:
            self.estimator = PidRateEstimator(interval_ms)
        spent_ms = round(1000 * batch.duration_s)
        rate = self.estimator.compute(
            round(1000 * batch.committed_at_s),
            batch.records,
            spent_ms,
            max(0, spent_ms - interval_ms),
        )
        if rate is None:
            return settings
        return replace(settings, max_offsets=max(1, round(rate * settings.trigger_s)))

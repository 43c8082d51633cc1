"""Numaflow's law for a source vertex.

Source: numaproj/numaflow at 63ba4e8 (2026-08-22), scaling.go and options.go of
pkg/reconciler/vertex/scaling, pkg/apis/numaflow/v1alpha1/const.go; Apache-2.0. The pipeline is one
vertex, so there is no back pressure from downstream vertices, and one partition: our signals have
the total lag.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.peers.controller import Limits
from bench.peers.window import Period, Window

from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Signals


@dataclass(frozen=True, slots=True)
class Parameters:
    """Defaults of the API and of the scaler."""

    task_interval_s: float = 30
    lookback_s: float = 120
    target_processing_s: float = 20
    cooldown_up_s: float = 90
    cooldown_down_s: float = 90
    replicas_per_scale: int = 2


def desired_replicas(
    rates: Sequence[float], pendings: Sequence[int], ready: int, target_s: float
) -> int:
    """Replicas that process what is pending in the target time; the maximum over partitions."""
    most = 1
    for rate, pending in zip(rates, pendings, strict=False):
        if pending and rate:
            desired = max(1, math.floor(pending / rate / target_s * ready + 0.5))
            most = max(most, min(desired, pending))
    return most


class Numaflow:
    """The scaler of one source vertex; like all others, it never scales to zero here."""

    def __init__(self, limits: Limits, parameters: Parameters) -> None:
        self.limits, self.parameters = limits, parameters
        self.period = Period(parameters.task_interval_s)
        self.window = Window(parameters.lookback_s)
        self.scaled_at_s = -math.inf

    def decide(self, now_s: float, signals: Signals | None, settings: Settings) -> Settings:
        """Run the scaler once: at most a few replicas up or down."""
        if signals:
            self.window.add(now_s, signals)
        if not self.period.due(now_s) or signals is None or not signals.executors_running:
            return settings
        rate = self.window.processed_rate()
        pending = self.window.mean(lambda s: s.lag_records)
        if rate is None or pending is None:
            return settings
        p, current, since_s = self.parameters, settings.executors, now_s - self.scaled_at_s
        wanted = self.limits.clamp(
            desired_replicas(
                [rate], [int(pending)], signals.executors_running, p.target_processing_s
            )
        )
        if wanted == current or since_s < (
            p.cooldown_up_s if wanted > current else p.cooldown_down_s
        ):
            return settings
        step = min(abs(wanted - current), p.replicas_per_scale)
        self.scaled_at_s = now_s
        return replace(settings, executors=current + (step if wanted > current else -step))

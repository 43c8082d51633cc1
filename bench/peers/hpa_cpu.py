"""The HorizontalPodAutoscaler on CPU.

Source: as `hpa.py`; the target is DefaultCPUUtilization of pkg/apis/autoscaling/annotations.go.
CPU use of an executor is its busy share times the share of that on a CPU, averaged over the
resolution of metrics-server (15 s by default); its request is one core.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench.peers import hpa
from bench.peers.controller import Limits
from bench.peers.window import Period, Window

from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Signals


@dataclass(frozen=True, slots=True)
class Parameters:
    """Defaults of the API and of metrics-server."""

    target_percent: int = 80
    metrics_s: float = 15
    stabilisation_s: float = 300
    """`behavior.scaleDown.stabilizationWindowSeconds`."""
    sync_s: float = 15


class HpaCpu:
    """One HPA on the average CPU use of the executors."""

    def __init__(self, limits: Limits, parameters: Parameters) -> None:
        self.parameters = parameters
        self.period = Period(parameters.sync_s)
        self.window = Window(parameters.metrics_s)
        self.autoscaler = hpa.Autoscaler(
            limits, hpa.parameters(parameters.sync_s, parameters.stabilisation_s)
        )

    def decide(self, now_s: float, signals: Signals | None, settings: Settings) -> Settings:
        """One sync; executors that do not run yet are unready pods."""
        if signals:
            self.window.add(now_s, signals)
        if not self.period.due(now_s) or signals is None:
            return settings
        used = self.window.mean(_cpu)
        if used is None or not signals.executors_running:
            return settings
        desired = hpa.utilisation_replicas(
            settings.executors,
            [round(1000 * used)] * signals.executors_running,
            self.parameters.target_percent,
            unready=signals.executors_pending or 0,
        )
        return replace(
            settings, executors=self.autoscaler.settle(now_s, settings.executors, desired)
        )


def _cpu(signals: Signals) -> float | None:
    if signals.slots_busy is None or signals.cpu_ratio is None:
        return None
    return signals.slots_busy * signals.cpu_ratio

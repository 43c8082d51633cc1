"""KEDA's Kafka scaler with the HorizontalPodAutoscaler that it creates.

Source: kedacore/keda at 8b4f083 (2026-08-20), pkg/scalers/kafka_scaler.go; Apache-2.0. The law of
the HPA is in `hpa.py`. Our signals have no lag by partition: as many partitions count as lagging
as there are lagging records, at most all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench.peers import hpa
from bench.peers.controller import Limits
from bench.peers.window import Period

from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Signals


@dataclass(frozen=True, slots=True)
class Parameters:
    """Defaults of the scaler; thresholds in records. The default of 10 is meant to be replaced."""

    lag_threshold: int = 10
    allow_idle_consumers: bool = False
    limit_to_partitions_with_lag: bool = False
    ensure_even_distribution: bool = False
    stabilisation_s: float = 300
    """`behavior.scaleDown.stabilizationWindowSeconds` of the HPA."""
    sync_s: float = 15


def factors(number: int) -> list[int]:
    """The divisors of a number, ascending."""
    return [n for n in range(1, number + 1) if number % n == 0]


def next_factor(lag: int, partitions: int, threshold: int) -> int:
    """The fewest consumers that can handle the lag and share the partitions evenly."""
    return next((f for f in factors(partitions) if f * threshold >= lag), partitions)


def metric(lag: int, partitions: int, lagging: int, parameters: Parameters) -> int:
    """The lag that is reported to the HPA, in records."""
    threshold = parameters.lag_threshold
    even, limited = parameters.ensure_even_distribution, parameters.limit_to_partitions_with_lag
    if parameters.allow_idle_consumers and not (even or limited):
        return lag
    if even:
        lag = next_factor(lag, partitions, threshold) * threshold
    bound = lagging if limited else partitions
    return bound * threshold if lag // threshold > bound else lag


class Keda:
    """The scaler behind an HPA with a target of type AverageValue."""

    def __init__(self, limits: Limits, parameters: Parameters) -> None:
        self.parameters = parameters
        self.period = Period(parameters.sync_s)
        self.autoscaler = hpa.Autoscaler(
            limits, hpa.parameters(parameters.sync_s, parameters.stabilisation_s)
        )

    def decide(self, now_s: float, signals: Signals | None, settings: Settings) -> Settings:
        """One HPA sync; without a metric nothing is set."""
        if not self.period.due(now_s) or signals is None or signals.lag_records is None:
            return settings
        lag, partitions = int(signals.lag_records), signals.partitions or 1
        told = metric(lag, partitions, min(partitions, lag), self.parameters)
        desired = hpa.average_value_replicas(
            settings.executors, told, self.parameters.lag_threshold
        )
        return replace(
            settings, executors=self.autoscaler.settle(now_s, settings.executors, desired)
        )

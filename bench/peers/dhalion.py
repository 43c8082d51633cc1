"""Dhalion for a Kafka source and one operator: symptoms, a diagnosis, one resolution.

Source: the re-implementation of delftdata/espa-autoscaling at a10afb9 (2024-06-10),
autoscalers/dhalion/*.py and autoscalers/common/Configuration.py; Apache-2.0. Paper: Floratou et
al., "Dhalion: self-regulating stream processing in Heron", VLDB 2017.

The lag's growth is a least-squares slope; theirs is Prometheus' rate() of a gauge, which treats
every decrease as a reset. Their thresholds were chosen for loads of 10^5 to 10^6 records/s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum, auto

from bench.peers.controller import Limits
from bench.peers.window import Period, Window

from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Signals


@dataclass(frozen=True, slots=True)
class Parameters:
    """Defaults of espa's configuration; rates in records/s, lag in records."""

    iteration_s: float = 15
    aggregation_s: float = 60
    cooldown_s: float = 120
    lag_rate_threshold: float = 1000
    """Growth of the lag from which the source counts as limited."""
    lag_close_to_zero: float = 10_000
    scale_down_factor: float = 0.8


class Symptom(Enum):
    """What the detectors see."""

    LAG_GROWS = auto()
    NO_LAG = auto()


class Diagnosis(Enum):
    """What the diagnosers conclude."""

    UNDER_PROVISIONED = auto()
    OVER_PROVISIONED = auto()


@dataclass(frozen=True, slots=True)
class Sensed:
    """The sensors, averaged: growth of the lag and consumption in records/s, lag in records."""

    lag_growth: float
    consumed: float
    lag: float


def symptoms(sensed: Sensed, parameters: Parameters) -> set[Symptom]:
    """Every symptom that the sensors show."""
    found = set()
    if sensed.lag_growth > parameters.lag_rate_threshold:
        found.add(Symptom.LAG_GROWS)
    if sensed.lag <= parameters.lag_close_to_zero:
        found.add(Symptom.NO_LAG)
    return found


def diagnose(found: set[Symptom]) -> Diagnosis | None:
    """The one cause that the symptoms indicate."""
    if Symptom.LAG_GROWS in found:
        return Diagnosis.UNDER_PROVISIONED
    return Diagnosis.OVER_PROVISIONED if Symptom.NO_LAG in found else None


def resolve(diagnosis: Diagnosis, executors: int, sensed: Sensed, parameters: Parameters) -> int:
    """The parallelism that resolves the diagnosis."""
    if diagnosis is Diagnosis.OVER_PROVISIONED:
        return max(1, math.floor(executors * parameters.scale_down_factor))
    factor = 1 + sensed.lag_growth / (sensed.consumed or 1)
    return math.ceil(executors * max(1.0, factor))


class Dhalion:
    """Iterates, with a cool-down after each change."""

    def __init__(self, limits: Limits, parameters: Parameters) -> None:
        self.limits, self.parameters = limits, parameters
        self.period = Period(parameters.iteration_s)
        self.window = Window(parameters.aggregation_s)
        self.rest_until_s = 0.0

    def decide(self, now_s: float, signals: Signals | None, settings: Settings) -> Settings:
        """One iteration: sense, detect, diagnose, resolve."""
        if signals:
            self.window.add(now_s, signals)
        if not self.period.due(now_s) or now_s < self.rest_until_s or signals is None:
            return settings
        growth = self.window.slope(lambda s: s.lag_records)
        consumed, lag = self.window.processed_rate(), self.window.mean(lambda s: s.lag_records)
        if growth is None or consumed is None or lag is None:
            return settings
        sensed = Sensed(growth, consumed, lag)
        diagnosis = diagnose(symptoms(sensed, self.parameters))
        if diagnosis is None:
            return settings
        target = self.limits.clamp(resolve(diagnosis, settings.executors, sensed, self.parameters))
        if target != settings.executors:
            self.rest_until_s = now_s + self.parameters.cooldown_s
        return replace(settings, executors=target)

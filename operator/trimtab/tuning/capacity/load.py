"""Load: demand over what the configuration can sustain, and latency over its target."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trimtab.tuning.capacity.model import Model
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Signals, Snapshot

STEP = 0.25
"""The last samples replace the minute's mean if they differ from it by this share."""

ENDLESS = 99.0
"""The load of settings that carry nothing, as when overhead fills the trigger."""


@dataclass(frozen=True, slots=True)
class Expected:
    """More input than there is, within minutes."""

    rate: float
    """Records/s."""
    within_s: float
    words: str


@dataclass(frozen=True, slots=True)
class Load:
    """Both loads; 1.0 is the limit of the configuration."""

    input_rate: float
    """Records/s that a decision plans for: what comes in, or what is expected if that is more."""
    seen_rate: float
    """Incoming records/s."""
    demand: float
    """Records/s to process: input and the backlog's share."""
    backlog: float
    """Records beyond those in flight."""
    capacity: float
    latency: float | None
    """None while a backlog drains, and for a rate goal."""
    duration_s: float
    """Seconds that a batch takes at that input."""
    expected: Expected | None = None
    """The forecast that it is for; None if no more input is expected than is seen."""

    @property
    def value(self) -> float:
        """The larger of the known loads."""
        return self.capacity if self.latency is None else max(self.capacity, self.latency)


def input_rate_of(signals: Signals) -> float | None:
    """Records/s: the minute's mean, or the newest samples when the load has stepped."""
    fresh, mean = signals.input_rate, signals.input_rate_long
    if fresh is None or mean is None:
        return fresh if mean is None else mean
    apart = abs(fresh - mean) / max(fresh, mean, 1e-9)
    return mean + min(1.0, apart / STEP) * (fresh - mean)


def in_flight_s(trigger_s: float, duration_s: float) -> float:
    """Seconds of input in flight: in the batch under way and in the wait for the next one."""
    return trigger_s + max(trigger_s, duration_s)


def carrying(snapshot: Snapshot) -> Settings:
    """The settings with the executors that carry the load now.

    Executors that start soon count; those that the cluster keeps from starting do not.
    """
    signals, settings = snapshot.signals, snapshot.settings
    running = signals.executors_running if signals else None
    if not running or not snapshot.constraints.executors_missing:
        return settings
    return replace(settings, executors=min(running, settings.executors))


def measure(
    snapshot: Snapshot, model: Model | None, expected: Expected | None = None
) -> Load | None:
    """The load of the current settings; None if a part of it is unknown.

    With more input expected, it is the load that they would have then.
    """
    signals = snapshot.signals
    if signals is None or model is None or signals.lag_records is None:
        return None
    seen_rate = input_rate_of(signals)
    if seen_rate is None:
        return None
    input_rate = max(seen_rate, expected.rate) if expected else seen_rate
    policy, settings = snapshot.policy, carrying(snapshot)
    slots, trigger_s = policy.capacity(settings).slots, settings.trigger_s
    duration_s = batch_s(model, policy, settings, seen_rate)
    every_s = min(max(trigger_s, duration_s), policy.pace_s(trigger_s))
    in_flight = seen_rate * in_flight_s(every_s, duration_s)
    backlog = max(0.0, signals.lag_records - in_flight)
    one_batch = seen_rate * max(trigger_s, duration_s)
    demand = input_rate + backlog / policy.catch_up_s
    if policy.rate is not None:
        demand = min(demand, policy.rate)
    if policy.maximum and backlog > 0:
        demand = max(input_rate, admitted(model, slots, settings))
    return Load(
        input_rate=input_rate,
        seen_rate=seen_rate,
        demand=demand,
        backlog=backlog,
        capacity=capacity_load(model, policy, settings, demand),
        latency=latency_load(model, policy, settings, input_rate) if backlog <= one_batch else None,
        duration_s=batch_s(model, policy, settings, input_rate),
        expected=expected,
    )


def capacity_load(model: Model, policy: Policy, settings: Settings, demand: float) -> float:
    """demand / s(p, T), or over what the batch limit admits if that is less; at most `ENDLESS`.

    Under a goal of `max` a backlog fills the batches, so only what is admitted counts.
    """
    slots = policy.capacity(settings).slots
    model = model.with_in_flight(settings.max_in_flight)
    lets_in = admitted(model, slots, settings)
    if policy.maximum:
        return _over(demand, lets_in)
    return _over(demand, min(model.sustainable(slots, policy.pace_s(settings.trigger_s)), lets_in))


def starting_debt(
    model: Model, policy: Policy, settings: Settings, load: Load, start_s: float
) -> float:
    """Records/s by which demand grows with what waits until more executors run.

    What the settings in force leave undone meanwhile is to be worked off within the catch-up time,
    like the debt of a pause. No longer than input is in flight anyway, nothing gathers.
    """
    over = capacity_load(model, policy, settings, load.input_rate)
    undone = load.input_rate * (1 - 1 / over) if over > 1 else 0.0
    waits_s = max(0.0, start_s - in_flight_s(settings.trigger_s, load.duration_s))
    return undone * waits_s / policy.catch_up_s


def slots_load(model: Model, policy: Policy, settings: Settings, demand: float) -> float:
    """demand / s(p, T): how much the slots have to do, whatever the batch limit admits."""
    slots = policy.capacity(settings).slots
    model = model.with_in_flight(settings.max_in_flight)
    return _over(demand, model.sustainable(slots, policy.pace_s(settings.trigger_s)))


def _over(demand: float, rate: float) -> float:
    return min(demand / rate, ENDLESS) if rate > 0 else ENDLESS if demand > 0 else 0.0


def admitted(model: Model, slots: int, settings: Settings) -> float:
    """Records/s that maxOffsetsPerTrigger admits: one full batch per max(T, D)."""
    full_s = model.duration_s(settings.max_offsets, slots)
    return settings.max_offsets / max(settings.trigger_s, full_s)


def latency_load(
    model: Model, policy: Policy, settings: Settings, input_rate: float
) -> float | None:
    """(q·max(T, D) + D) / target at a constant input; None for a rate goal, or without input."""
    if policy.target_s is None or input_rate <= 0:
        return None
    model = model.with_in_flight(settings.max_in_flight)
    duration_s = batch_s(model, policy, settings, input_rate)
    return (policy.quantile * max(settings.trigger_s, duration_s) + duration_s) / policy.target_s


def batch_s(model: Model, policy: Policy, settings: Settings, rate: float) -> float:
    """Seconds of a batch at a constant input.

    That of a trigger's input, or of what comes in meanwhile if batches may follow each other at
    once. Where those would be too long, the capacity load says so.
    """
    slots, trigger_s = policy.capacity(settings).slots, settings.trigger_s
    duration_s = model.duration_s(rate * trigger_s, slots)
    stretched_s = model.back_to_back_s(rate, slots)
    stretches = trigger_s < duration_s and stretched_s <= policy.pace_s(trigger_s)
    return stretched_s if stretches else duration_s


def predict(
    model: Model, policy: Policy, settings: Settings, load: Load, pause_s: float = 0.0
) -> float:
    """The load that other settings would have at the same input.

    A change that pauses the pipeline leaves a backlog, which must drain within the catch-up time:
    the debt of the restart (the Flink autoscaler's target capacity has the same term).
    """
    debt = 0.0 if policy.maximum else load.input_rate * pause_s / policy.catch_up_s
    capacity = capacity_load(model, policy, settings, load.demand + debt)
    latency = latency_load(model, policy, settings, load.input_rate)
    return capacity if latency is None else max(capacity, latency)


def least_latency_s(model: Model, policy: Policy, input_rate: float, slots: float) -> float:
    """The lowest possible percentile on some slots: that of batches which follow at once."""
    return (1 + policy.quantile) * model.back_to_back_s(input_rate, slots)

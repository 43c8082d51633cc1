"""What the knobs and guards share within one decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from trimtab.api.knobs import How
from trimtab.api.reasons import Reason
from trimtab.tuning.capacity.configuration import Capacity
from trimtab.tuning.capacity.load import Load, predict, slots_load, starting_debt
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.capacity.running import Late
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.policy import Policy
from trimtab.tuning.regime import Band
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Snapshot

PAUSES_S = {How.LIVE: 0.0, How.QUERY: 1.5, How.DRIVER: 40.0}
"""Seconds without a commit that a change costs, until this pipeline's own are measured: the middle
of those seen on a real cluster (docs/benchmarks/first-run.md)."""

MORE = 0.03
"""Minimum share by which a change must raise the rate under a goal of `max` to be worth it."""

CLEAR = 0.25
"""Margin of an estimate to the higher bound, as a share of the dead band."""

NARROW = 0.1
"""Dead band that is enough where the input is steady."""

K = TypeVar("K")


def near_highest(rates: Mapping[K, float]) -> K | None:
    """The first whose rate comes near the highest one, by `MORE`; None if there are none."""
    highest = max(rates.values(), default=0.0)
    return next((key for key, rate in rates.items() if rate >= (1 - MORE) * highest), None)


@dataclass(frozen=True, slots=True)
class Context:
    """A snapshot and what was derived from it."""

    snapshot: Snapshot
    memory: ControllerState
    model: Model
    load: Load
    band: Band
    late: Late | None = None
    """The batch under way, if it is late; the model is then slowed accordingly."""

    @property
    def policy(self) -> Policy:
        """What the user asked for."""
        return self.snapshot.policy

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.snapshot.settings

    @property
    def capacity(self) -> Capacity:
        """What the settings in force can run at once."""
        return self.snapshot.capacity

    @property
    def slots(self) -> int:
        """Task slots of the settings in force."""
        return self.capacity.slots

    @property
    def executor_range(self) -> tuple[int, int]:
        """The fewest and the most executors that the limits allow with the current cores."""
        return self.policy.executors_of(self.capacity.cores)

    @property
    def carried(self) -> float:
        """Records/s of the settings in force once a batch is under way."""
        return self.model.capacity(self.slots)

    @property
    def extrapolates(self) -> bool:
        """Whether a batch of the current input is far larger than all learned ones."""
        return self.model.extrapolates(self.load.input_rate * self.settings.trigger_s)

    @property
    def clear(self) -> float:
        """The load that an estimate aims at, clear of the higher bound: it may be optimistic."""
        return self.band.higher - CLEAR * (self.band.higher - self.band.lower)

    @property
    def light(self) -> float:
        """The load below which one executor fewer is enough: more, once the input is steady."""
        quiet = self.memory.quiet.light(self.snapshot.now_s) and not self.policy.maximum
        return max(self.band.lower, self.band.higher - NARROW) if quiet else self.band.lower

    def fixed(self, knob: str) -> bool:
        """Whether a knob must not be moved, because it is pinned or locked."""
        return self.policy.fixes(knob)

    def pause_s(self, how: How) -> float:
        """Seconds that a change pauses the pipeline: measured here, else the usual value.

        What was measured before the driver restarted still counts.
        """
        signals = self.snapshot.signals
        known = {**self.memory.pause_s, **(signals.pause_s if signals else {})}
        return PAUSES_S[how] if how is How.LIVE else known.get(how, PAUSES_S[how])

    def predicted(self, settings: Settings, how: How = How.LIVE) -> float:
        """The load that other settings would have, including the debts of the pause and of the
        time until executors run."""
        load, start_s = self.load, self.memory.start_s
        if settings.executors > self.settings.executors and start_s and not self.policy.maximum:
            debt = starting_debt(self.model, self.policy, self.settings, load, start_s)
            load = replace(load, demand=load.demand + debt)
        return predict(self.model, self.policy, settings, load, self.pause_s(how))

    def slots_load(self, settings: Settings) -> float:
        """The load on the slots of other settings, whatever the batch limit admits."""
        return slots_load(self.model, self.policy, settings, self.load.demand)

    @property
    def one_fewer_load(self) -> float:
        """The load on the slots of one executor fewer."""
        return self.slots_load(replace(self.settings, executors=self.settings.executors - 1))

    @property
    def waves(self) -> bool:
        """Whether the input comes in waves."""
        return self.memory.recurrence.comes_back(self.snapshot.now_s)

    def holds(self, settings: Settings) -> bool:
        """Whether other settings would have room on their slots, and meet the goal."""
        roomy = self.slots_load(settings) <= self.clear
        return roomy and self.predicted(settings) <= self.band.higher

    def carries_peak(self, settings: Settings) -> bool:
        """Whether other settings would carry the highest input of late within the bounds."""
        peak = self.memory.recurrence.rate
        if peak <= self.load.input_rate:
            return True
        then = replace(self.load, input_rate=peak, demand=max(peak, self.load.demand))
        return predict(self.model, self.policy, settings, then) <= self.band.higher

    def free(self, offer: Proposal) -> bool:
        """Whether a change needs no more executors."""
        return offer.settings.executors <= self.settings.executors

    def offer(
        self, knob: str, how: How, settings: Settings, reason: Reason, *, raises: bool
    ) -> Proposal:
        """A change with its predicted load."""
        return Proposal(knob, how, settings, self.predicted(settings, how), raises, reason)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change that one knob offers."""

    knob: str
    how: How
    settings: Settings
    predicted: float
    raises: bool
    reason: Reason
    purpose: str = ""
    """What it makes room for, if the predicted load does not show it."""


@dataclass(frozen=True, slots=True)
class Veto:
    """Why a change must not be made now."""

    reason: Reason
    message: str

"""What the knobs and guards share of one decision."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.api.knobs import How
from trimtab.api.reasons import Reason
from trimtab.tuning.load import Load, predict
from trimtab.tuning.memory import Memory
from trimtab.tuning.model import Model
from trimtab.tuning.regime import Band
from trimtab.tuning.running import Late
from trimtab.tuning.snapshot import Policy, Settings, Snapshot


@dataclass(frozen=True, slots=True)
class Context:
    """A snapshot with what was derived from it."""

    snapshot: Snapshot
    memory: Memory
    model: Model
    load: Load
    band: Band
    late: Late | None = None
    """The batch under way, where it is late; the model is then slowed by what it shows."""

    @property
    def policy(self) -> Policy:
        """What a person asked for."""
        return self.snapshot.policy

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.snapshot.settings

    @property
    def middle(self) -> float:
        """Where a release aims: between the bounds, so that it does not come back at once."""
        return (self.band.higher + self.band.lower) / 2

    def predicted(self, settings: Settings) -> float:
        """The load that other settings would have."""
        return predict(self.model, self.policy, settings, self.load)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change that one knob offers."""

    knob: str
    how: How
    settings: Settings
    predicted: float
    raises: bool
    reason: Reason

"""The base class of knobs: one value, or a few that only make sense together, moved as one.

One class in a knob's module holds everything specific to that knob; all other code asks the
registry (`knobs.LADDER`) and knows no knob by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from trimtab.api.knobs import How
from trimtab.api.knobs import Knob as Value
from trimtab.api.reasons import BottleneckKind
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.context import Context, Proposal, Veto
from trimtab.tuning.controller_state import Trial
from trimtab.tuning.diagnosis.facts import Bottleneck
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Snapshot
from trimtab.tuning.trials.comparison import Comparison, lighter
from trimtab.tuning.trials.outcome import EXPIRES_S, Outcome


class Knob(ABC):
    """A knob with the default behaviour; its module overrides what differs."""

    name: str
    """Used in trials, verdicts and messages."""
    values: tuple[Value, ...]
    """The API fields that it moves, with bounds and units: its own value first, then those that
    move with it."""
    moves: frozenset[BottleneckKind]
    """The bottlenecks that it can relieve."""
    how: ClassVar[How] = How.LIVE
    """How a change reaches the driver, which determines how long it pauses the pipeline."""
    final: ClassVar[bool] = False
    """Its change cannot be reverted, so every other knob comes first."""
    starts_executors: ClassVar[bool] = False
    """Its trial changes the slots: executors start or stop."""
    oscillates: ClassVar[bool] = False
    """Reversing it at an unchanged load widens the dead band."""
    fallback: ClassVar[bool] = False
    """It is also tried against bottlenecks that it should not relieve, when nothing else is left:
    the bottleneck may be named wrongly."""
    shortens_batches: ClassVar[bool] = False
    """Raising it shortens the same batch, which makes room for a shorter trigger."""
    stays_unproven: ClassVar[bool] = True
    """Its change stays if other input voids the trial; False: it takes capacity away on trial."""
    expires_s: ClassVar[float] = EXPIRES_S
    """Seconds after which its trial is closed if too few batches ran."""

    @property
    def fields(self) -> frozenset[str]:
        """The API names of the values that it moves."""
        return frozenset(value.name for value in self.values)

    # limits

    def clamp(self, policy: Policy, settings: Settings) -> Settings:
        """The settings with its own values within the limits of a policy."""
        del policy
        return settings

    def excess(self, policy: Policy, settings: Settings) -> str:
        """A message that names the limit the settings exceed; empty if they exceed none."""
        del policy, settings
        return ""

    def veto(self, context: Context) -> Veto | None:
        """A reason not to move it here, in addition to the guards of all knobs."""
        del context
        return None

    # offers

    @abstractmethod
    def raise_(self, context: Context) -> Proposal | None:
        """A change that raises capacity; None if there is none."""

    def release(self, context: Context) -> Proposal | None:
        """A change that costs less; None if there is nothing to release."""
        del context
        return None

    def at_best(self, context: Context, model: Model) -> Model | None:
        """The model with this knob at its limit; None if unknown."""
        del context
        return model

    # trials

    def applied(self, trial: Trial, snapshot: Snapshot) -> bool:
        """Whether the change is in force, if the driver's generation does not show it."""
        del trial, snapshot
        return True

    def waits(self, trial: Trial, snapshot: Snapshot) -> str:
        """A message saying what its batches wait for before they count; empty if nothing."""
        del trial, snapshot
        return ""

    def failed(self, trial: Trial, snapshot: Snapshot) -> Outcome | None:
        """How the trial failed without needing a batch; None if it has not."""
        del trial, snapshot
        return None

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """Whether a raise achieved its purpose, and the figure that shows it."""
        return lighter(seen)

    def put_back(self, before: Settings, now: Settings) -> tuple[Settings, str]:
        """The settings to revert to after a trial, and a message about any part that stays."""
        del now
        return before, ""

    # messages

    def cause(self, context: Context, proposal: Proposal, bottleneck: Bottleneck) -> str:
        """Why it moves: the bottleneck, or that less is enough."""
        del context
        if proposal.raises:
            return f"{bottleneck.kind} ({bottleneck.evidence})"
        return "more than needed"

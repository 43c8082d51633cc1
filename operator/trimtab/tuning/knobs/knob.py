"""What a knob is: one value, or a few that only make sense together, that the law moves as one.

A knob's module says all that is special about it in one class; everything else asks the registry
(`knobs.LADDER`) and knows no knob by name.
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
from trimtab.tuning.diagnosis.bottleneck import Bottleneck
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Snapshot
from trimtab.tuning.trials.comparison import Comparison, lighter
from trimtab.tuning.trials.outcome import EXPIRES_S, Outcome


class Knob(ABC):
    """A knob with the usual answers; its module overrides those that differ."""

    name: str
    """In trials, verdicts and messages."""
    values: tuple[Value, ...]
    """What it moves, fields of the API with their bounds and units: first its own value, then those
    that come along."""
    moves: frozenset[BottleneckKind]
    """The bottlenecks that it can lift."""
    how: ClassVar[How] = How.LIVE
    """How a change reaches the driver, and so how long it pauses the pipeline."""
    final: ClassVar[bool] = False
    """Its change cannot be put back: every other knob comes first."""
    starts_executors: ClassVar[bool] = False
    """Its trial is one of more slots: executors start, or go."""
    oscillates: ClassVar[bool] = False
    """A reversal of it at an unchanged load widens the dead band."""
    shortens_batches: ClassVar[bool] = False
    """More of it makes the same batch shorter, which makes room for a shorter trigger."""
    expires_s: ClassVar[float] = EXPIRES_S
    """Seconds after which its trial is closed where too few batches came."""

    @property
    def fields(self) -> frozenset[str]:
        """The names in the API of what it moves."""
        return frozenset(value.name for value in self.values)

    # limits

    def clamp(self, policy: Policy, settings: Settings) -> Settings:
        """The settings with its own values within the limits of a policy."""
        del policy
        return settings

    def excess(self, policy: Policy, settings: Settings) -> str:
        """Which limit the settings exceed, in words; empty where they do not."""
        del policy, settings
        return ""

    def veto(self, context: Context) -> Veto | None:
        """What speaks against moving it here, beyond what every knob is asked."""
        del context
        return None

    # offers

    @abstractmethod
    def raise_(self, context: Context) -> Proposal | None:
        """A change that carries more; None where there is none."""

    def release(self, context: Context) -> Proposal | None:
        """A change that costs less; None where it costs nothing that could be given back."""
        del context
        return None

    def at_best(self, context: Context, model: Model) -> Model | None:
        """The model with as much of this knob as the limits allow; None where nobody knows it."""
        del context
        return model

    # trials

    def applied(self, trial: Trial, snapshot: Snapshot) -> bool:
        """Whether the change is in force, where the driver's generation does not tell."""
        del trial, snapshot
        return True

    def waits(self, trial: Trial, snapshot: Snapshot) -> str:
        """What its batches wait for before they count, in words; empty where for nothing."""
        del trial, snapshot
        return ""

    def failed(self, trial: Trial, snapshot: Snapshot) -> Outcome | None:
        """The end of a trial that needs no batch; None where there is none yet."""
        del trial, snapshot
        return None

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """Whether a raise did what it was for, and the figure that says so."""
        return lighter(seen)

    def put_back(self, before: Settings, now: Settings) -> tuple[Settings, str]:
        """The settings to go back to after a trial, and what of the change stays, in words."""
        del now
        return before, ""

    # words

    def cause(self, context: Context, proposal: Proposal, bottleneck: Bottleneck) -> str:
        """Why it is moved: what holds the pipeline back, or that less will do."""
        del context
        if proposal.raises:
            return f"{bottleneck.kind} ({bottleneck.evidence})"
        return "more than needed"

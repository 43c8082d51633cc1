"""A decision: what to do and why, in words that become condition, Event, metric and log."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.api.reasons import Action, BottleneckKind, Reason
from trimtab.tuning.capacity.load import Load
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.diagnosis.bottleneck import Bottleneck
from trimtab.tuning.settings import Settings

NOTHING = Bottleneck(BottleneckKind.NONE, "")


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do and why."""

    action: Action
    reason: Reason
    message: str
    settings: Settings
    changes: tuple[str, ...] = ()
    load: Load | None = None
    bottleneck: Bottleneck = NOTHING
    partitions: int | None = None
    """Partitions of the source that would lift the bottleneck, where those are what limits."""
    closed: Decision | None = None
    """The end of the trial that this change followed at once."""

    @property
    def told(self) -> tuple[Decision, ...]:
        """What there is to tell, in order: the end of a trial comes before what followed it."""
        return (self.closed, self) if self.closed else (self,)

    @property
    def moves(self) -> bool:
        """Whether settings are to be written."""
        return bool(self.changes) and self.action in {Action.CHANGE, Action.REVERT}


Step = tuple[Decision, ControllerState]
"""A decision and the memory after it."""


def hold(
    memory: ControllerState,
    reason: Reason,
    message: str,
    load: Load | None = None,
    bottleneck: Bottleneck = NOTHING,
) -> Decision:
    """Touch nothing, and say why."""
    return Decision(Action.HOLD, reason, message, memory.settings, load=load, bottleneck=bottleneck)

"""A decision: what to do and why. It becomes the condition, Event, metric and log line."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.api.reasons import Action, BottleneckKind, Reason
from trimtab.tuning.capacity.load import Load
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.diagnosis.facts import Bottleneck
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
    """Source partitions that would relieve the bottleneck; None if they are not the limit."""
    closed: Decision | None = None
    """The end of the trial that this change followed immediately."""

    @property
    def told(self) -> tuple[Decision, ...]:
        """The decisions to report, in order: the end of a trial, then what followed it."""
        return (self.closed, self) if self.closed else (self,)

    @property
    def moves(self) -> bool:
        """Whether new settings must be written."""
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
    """Change nothing, and say why."""
    return Decision(Action.HOLD, reason, message, memory.settings, load=load, bottleneck=bottleneck)

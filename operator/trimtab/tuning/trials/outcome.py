"""How a trial ends."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.api.reasons import Action, Reason
from trimtab.tuning.settings import Settings

EXPIRES_S = 300.0
"""Seconds after which a trial without enough batches is closed; `EXPIRES` if that is longer."""

EXPIRES = 20
"""The same in triggers."""


def expires_after_s(trigger_s: float, least_s: float = EXPIRES_S) -> float:
    """Seconds after which a trial at some trigger is closed."""
    return max(least_s, EXPIRES * trigger_s)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended; `settings` are those to continue with."""

    action: Action
    reason: Reason
    message: str
    settings: Settings
    judged: bool = False
    """Whether batches decided, so that the prediction can be scored."""


def unproven(words: str, settings: Settings) -> Outcome:
    """The end of a trial that shows nothing for or against the change, which stays."""
    message = f"{words}: nothing shows whether the change helped; it stays"
    return Outcome(Action.UNPROVEN, Reason.TRIAL_UNPROVEN, message, settings)

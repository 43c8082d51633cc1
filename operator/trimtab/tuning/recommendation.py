"""A change that waits for a person, and how good such changes were."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.tuning.settings import Settings


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A change that waits for approval."""

    generation: int
    """Its number, which an approval names."""
    of_settings: int
    """Generation of the settings that it is for."""
    knob: str
    raises: bool
    settings: Settings
    load: float
    """When it was first made."""
    predicted: float
    """The load that it would have led to then."""
    since_s: float


@dataclass(frozen=True, slots=True)
class AdviceRecord:
    """How good past recommendations were, each asked every few minutes while it stood."""

    given: int = 0
    """Recommendations so far; the newest has this generation."""
    approved: int = 0
    asked: int = 0
    held_advised: int = 0
    """How often the recommended settings would have held the goal, by the model of that moment."""
    held_as_run: int = 0
    """How often the pipeline held it as it ran."""
    asked_s: float = 0.0
    """When it was asked last."""


NO_ADVICE_YET = AdviceRecord()

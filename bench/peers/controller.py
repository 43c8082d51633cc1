"""The interface of all opponents: signals in, settings out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Signals


class Controller(Protocol):
    """One opponent. It may have its own memory; it sees only its arguments."""

    def decide(self, now_s: float, signals: Signals | None, settings: Settings) -> Settings:
        """The desired settings at `now_s`; without signals a peer holds."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """The executor counts that a peer may choose, both inclusive."""

    least: int
    most: int

    def clamp(self, executors: int) -> int:
        """The nearest count that is allowed."""
        return min(max(executors, self.least), self.most)

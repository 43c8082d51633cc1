"""The reflex of the simulated driver: polls of lag and input, and what it has asked for."""

from __future__ import annotations

from trimtab.api.contract import Reflex
from trimtab.tuning.reflex import Watch

POLL_S = 1.0
"""Seconds between two polls."""


class DriverReflex:
    """What the operator has allowed, and the raises so far."""

    def __init__(self) -> None:
        self.table: Reflex | None = None
        self.raises: list[tuple[float, int]] = []
        """When the driver asked for executors by itself, and for how many."""
        self.raised_to: int | None = None
        """Executors that it has asked for above its settings."""
        self._watch = Watch()

    def away(self) -> None:
        """The driver does not run: its polls begin anew."""
        self._watch.forget()

    def poll(
        self, generation: int, executors: int, at_s: float, total: float, lag: float
    ) -> int | None:
        """The executors to ask for after a poll, with these settings and executors; or None."""
        valid = self.table if self.table and self.table.generation == generation else None
        wanted = self._watch.look(valid, executors, at_s, total, lag)
        if wanted is not None:
            self.raised_to = wanted
            self.raises.append((at_s, wanted))
        return wanted

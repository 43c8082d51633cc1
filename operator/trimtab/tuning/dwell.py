"""Dwell: how often in a row the load was on one side of the bounds, counting evidence once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum


class Side(Enum):
    """Above the bounds, or below."""

    OVER = "over"
    UNDER = "under"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a tick saw: the last finished batch, and when its metrics were sampled.

    A batch is evidence for either side, a new sample alone only for a load above the bounds, or
    while nothing comes in. Without `sampled_at_s` only batches count.
    """

    batch: str
    sampled_at_s: float = 0.0
    idle_s: float | None = None
    """Seconds without input that count like a batch; None if there is input."""


@dataclass(frozen=True, slots=True)
class DwellCounter:
    """How often in a row each side was seen, and the last evidence that counted."""

    over: int = 0
    under: int = 0
    batch: str = ""
    sampled_at_s: float = 0.0

    def observe(self, side: Side | None, evidence: Evidence, dwell: int) -> DwellCounter:
        """The count after one more tick; side None means that the load is within the bounds.

        The count stops at the dwell: otherwise it would be written in every tick.
        """
        if side is None:
            return NOT_SEEN
        over = side is Side.OVER
        if (self.over if over else self.under) >= dwell:
            return self
        if not self._is_new(evidence, over=over):
            return replace(self, under=0) if over else replace(self, over=0)
        counts = (self.over + 1, 0) if over else (0, self.under + 1)
        return DwellCounter(*counts, evidence.batch, evidence.sampled_at_s)

    def _is_new(self, evidence: Evidence, *, over: bool) -> bool:
        if evidence.batch != self.batch:
            return True
        since_s = evidence.sampled_at_s - self.sampled_at_s
        if evidence.idle_s is not None:
            return since_s >= evidence.idle_s
        return over and since_s > 0


NOT_SEEN = DwellCounter()
"""Neither side was seen."""

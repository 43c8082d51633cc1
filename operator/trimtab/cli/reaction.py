"""How fast the loop reacts: what follows from scrape, tick and dwell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """How often is sampled, decided, and a batch begun. Seconds."""

    scrape_s: float
    tick_s: float
    trigger_s: float

    def raising_s(self, dwell_up: int) -> float:
        """Seconds at the most from a step of the load to the decision on it, if none is open.

        A rate is read from two samples. Then each tick counts at most one, and only a new one.
        """
        return 2 * self.scrape_s + self.tick_s + (dwell_up - 1) * max(self.scrape_s, self.tick_s)

    def releasing_s(self, dwell_down: int) -> float:
        """Seconds at the least from a fall of the load to the release: only new batches count."""
        return (dwell_down - 1) * max(self.scrape_s, self.tick_s, self.trigger_s)

"""How fast the loop reacts, derived from scrape, tick and dwell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """How often the loop samples and decides, and how often a batch begins. Seconds."""

    scrape_s: float
    tick_s: float
    trigger_s: float

    def raising_s(self, dwell_up: int) -> float:
        """At most this many seconds from a step of the load to the decision, if no trial is open.

        A rate needs two samples. After that, each tick counts at most one, and only a new one.
        """
        return 2 * self.scrape_s + self.tick_s + (dwell_up - 1) * max(self.scrape_s, self.tick_s)

    def releasing_s(self, dwell_down: int) -> float:
        """At least this many seconds from a fall of the load to the release: new batches count."""
        return (dwell_down - 1) * max(self.scrape_s, self.tick_s, self.trigger_s)

"""Two controllers that know the plant and the future load. They are the frame for the others.

s(p) is that of the true plant at the initial trigger; the load is the scenario's, without noise.
Their batch limit never binds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench.peers.controller import Limits

from trimtab.api.knobs import MAX_OFFSETS
from trimtab.simulation.arrivals import Arrivals, arrivals
from trimtab.simulation.figures import capacities, least
from trimtab.simulation.scenario import Scenario
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Signals

NO_LIMIT = int(MAX_OFFSETS.maximum)
"""More records in a batch than any scenario reaches."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Their only parameter; None means the scenario's higher bound."""

    higher: float | None = None


class Knowledge:
    """The future load, and the capacity of each executor count, both in records/s."""

    def __init__(self, scenario: Scenario, seed: int, limits: Limits) -> None:
        self.flow: Arrivals = arrivals(scenario, seed)
        self.duration_s = scenario.duration
        counts = range(limits.least, limits.most + 1)
        self.rates = capacities(scenario, counts, scenario.settings())

    def needed(self, from_s: float, to_s: float, higher: float) -> int:
        """The fewest executors that can handle the load of a whole interval."""
        until = min(to_s, self.duration_s)
        seconds = range(int(from_s), max(int(from_s) + 1, int(until)))
        return least(self.rates, max(self.flow.plain_rate(t) for t in seconds), higher)


class Oracle:
    """The fewest executors for the load until the next decision can take effect."""

    def __init__(self, scenario: Scenario, seed: int, limits: Limits, p: Parameters) -> None:
        self.knowledge = Knowledge(scenario, seed, limits)
        self.higher = p.higher or scenario.policy().higher
        self.ahead_s = scenario.tick + scenario.plant.change.live_s

    def decide(self, now_s: float, signals: Signals | None, settings: Settings) -> Settings:
        """It needs no signals."""
        del signals
        executors = self.knowledge.needed(now_s, now_s + self.ahead_s, self.higher)
        return replace(settings, executors=executors)


class StaticPeak:
    """The fewest executors for the highest load of the whole run, for all of it."""

    def __init__(self, scenario: Scenario, seed: int, limits: Limits, p: Parameters) -> None:
        higher = p.higher or scenario.policy().higher
        knowledge = Knowledge(scenario, seed, limits)
        self.executors = knowledge.needed(0, scenario.duration, higher)

    def decide(self, now_s: float, signals: Signals | None, settings: Settings) -> Settings:
        """Always the same."""
        del now_s, signals
        return replace(settings, executors=self.executors)

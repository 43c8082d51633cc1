"""What a run was good for, in one line: the goal, and the cost beside a static peak."""

from __future__ import annotations

import math
from dataclasses import dataclass

from trimtab.api.quantities import counted
from trimtab.simulation.figures import capacities, figures, least
from trimtab.simulation.run import Run


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of the seconds after the warm-up."""

    judged_s: float
    held: float | None
    """Share of these seconds in which the goal was held; None for a goal of the highest rate."""
    core_hours: float
    static_executors: int
    """Executors that would carry every second, with the other knobs as they ended."""
    static_core_hours: float

    @property
    def words(self) -> str:
        """For a terminal."""
        count = counted(self.static_executors, "executor")
        saved = 1 - self.core_hours / self.static_core_hours if self.static_core_hours else 0.0
        less = f"{saved:.0%} less" if saved >= 0 else f"{-saved:.0%} more"
        cost = (
            f"{self.core_hours:.2f} core-hours, {less} than the {self.static_core_hours:.2f} of"
            f" {count} all the time, which the peak needs"
        )
        if self.held is None:
            return cost
        return f"goal held in {self.held:.1%} of {self.judged_s:,.0f} s; {cost}"


def summary(run: Run) -> Summary:
    """The summary of a finished run."""
    scenario, policy = run.scenario, run.scenario.policy()
    first, last = int(scenario.warmup_s), int(scenario.duration)
    found = figures(run, lambda _: {})
    counts = range(policy.min_executors, policy.max_executors + 1)
    rates = capacities(scenario, counts, run.final)
    demands = (min(run.arrivals.plain_rate(t), policy.rate or math.inf) for t in range(first, last))
    peak = max(demands, default=0.0)
    executors = least(rates, peak, policy.higher)
    judged_s = float(max(0, last - first))
    asked = policy.target_s is not None or policy.rate is not None
    held = 1 - found["slo_violation_s"] / judged_s if asked and judged_s else None
    static = executors * scenario.start.cores * judged_s / 3600
    return Summary(judged_s, held, found["core_hours"], executors, static)

"""Scenarios that have caught the control law, or could: noise, slow starts, drift, overload.

Each runs in virtual time and promises figures. `nasty_cases` lists them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from trimtab.api.reasons import Reason
from trimtab.simulation.figures import figures
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import Scenario
from trimtab.tuning.decision import Decision

CURVE = {1: 530, 2: 967, 4: 1830, 6: 2536, 8: 3118, 10: 3721, 14: 4625, 20: 6351, 26: 7476}
"""Records/s by executors, as measured by others on Nexmark Q1 (docs/benchmarks/control.md)."""

MOST = 26
Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Nasty:
    """A scenario and what its runs promise."""

    name: str
    data: Data
    violated_s: float
    """Most seconds in which the goal is violated, as the mean of the seeds."""
    cores: float = math.inf
    """Most core-hours, over those of an oracle that knows the load."""
    most: int = MOST
    """Most executors at any time."""
    reversals: int = 99
    """Most changes of executors back and forth at an unchanged load."""
    stuck_s: float = 0
    """Most seconds `Saturated` with fewer executors than are allowed."""
    seeds: tuple[int, ...] = (1,)

    def runs(self) -> list[Run]:
        """A run for each seed."""
        scenario = Scenario.model_validate({"name": self.name} | self.data)
        return [simulate(scenario, seed) for seed in self.seeds]

    def broken(self, runs: Iterable[Run]) -> list[str]:
        """The promises that the runs break, with the figures."""
        seen = [_seen(run) for run in runs]
        promised = {
            "violated_s": self.violated_s, "cores": self.cores,
            "most": self.most, "reversals": self.reversals, "stuck_s": self.stuck_s,
        }  # fmt: skip
        means = {name: sum(each[name] for each in seen) / len(seen) for name in promised}
        return [
            f"{name} {means[name]:.4g} > {bound:g}"
            for name, bound in promised.items()
            if means[name] > bound
        ]


def _seen(run: Run) -> dict[str, float]:
    found = figures(run, lambda _: {})
    return {
        "violated_s": found["slo_violation_s"],
        "cores": found["core_hours"] / found["oracle_h1_core_hours"],
        "most": max(tick.after.settings.executors for tick in run.ticks),
        "stuck_s": run.scenario.tick * sum(_stuck(tick.decision) for tick in run.ticks),
        "reversals": found["reversals"],
    }


def _stuck(decision: Decision) -> bool:
    return decision.reason is Reason.SATURATED and decision.settings.executors < MOST


WHITE12, WHITE15 = {"noise": 0.12}, {"noise": 0.15}
SLOW12 = {"noise": 0.12, "noise_memory": 0.9}
ROUGH = {"noise": 0.122, "noise_memory": 0.9, "doubled": 0.03}
PINS = {"trigger": 5, "maxOffsetsPerTrigger": 200_000}
STEP = [[0, 800], [603, 3500], [1803, 800], [3003, 3500], [4203, 800]]


def case(
    *, load: Any, batch: Data | None = None, pinned: bool = True, start: Data | None = None,
    tuning: Data | None = None, **rest: Any,
) -> Data:  # fmt: skip
    """A pipeline on `CURVE` with a goal of 12 s, except for what is given."""
    plant = {"capacity": CURVE, "metrics": {"scrape_s": 5, "delay_s": 5}} | rest.pop("plant", {})
    plant["batch"] = {"fixed_s": 0.3, "noise": 0.05} | (batch or {})
    shape = {"step": load} if isinstance(load, list) else load
    begin = {"executors": 2, "trigger": 5, "maxOffsetsPerTrigger": 200_000} | (start or {})
    data: Data = {
        "duration": 5400, "tick": 10, "partitions": 32, "load": {"noise": 0.05} | shape,
        "plant": plant, "goal": {"latency": {"percentile": 95, "target": 12}},
        "limits": {"executors": {"min": 1, "max": MOST}},
        "tuning": ({"pinned": PINS} if pinned else {}) | (tuning or {}), "start": begin,
    }  # fmt: skip
    return data | rest


def squares(half_s: int, low: float = 1200, high: float = 3600) -> Any:
    """A load that goes up and down, each for `half_s` seconds, from 303 s on."""
    times = range(303, 5400, half_s)
    steps = [[at_s, low if index % 2 else high] for index, at_s in enumerate(times)]
    return [[0, low], *steps]

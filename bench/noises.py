"""The noises under which every controller runs.

White noise of 5 % is what benches of scaling usually have. The project's own fit of the real driver
says 12.2 % (docs/benchmarks/simulator.md), slow batches come in runs, and now and then one takes
twice as long.
"""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.simulation.scenario import Scenario

NOISES: Mapping[str, Mapping[str, float]] = {
    "white": {"noise": 0.05, "noise_memory": 0.0, "doubled": 0.0},
    "rough": {"noise": 0.122, "noise_memory": 0.9, "doubled": 0.03},
}
"""By name, what `plant.batch` of every workload is given; the arrivals keep their own 5 %."""

WORDS: Mapping[str, str] = {
    "white": "5 % of white noise on batches",
    "rough": "12.2 % of noise on batches with a memory of 0.9, and 3 % of the batches doubled",
}


def noisy(scenario: Scenario, noise: str) -> Scenario:
    """The scenario with one of the noises."""
    batch = scenario.plant.batch.model_copy(update=dict(NOISES[noise]))
    plant = scenario.plant.model_copy(update={"batch": batch})
    return scenario.model_copy(update={"plant": plant})

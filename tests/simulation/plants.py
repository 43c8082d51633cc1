"""What the tests of the simulator share: a small scenario, and its plant run for some batches."""

from __future__ import annotations

from typing import Any

from trimtab.simulation.arrivals import arrivals
from trimtab.simulation.plant import Plant
from trimtab.simulation.running import BatchRecord
from trimtab.simulation.scenario import Scenario

BASE: dict[str, Any] = {
    "name": "small", "duration": 100, "tick": 50, "partitions": 4,
    "load": {"step": [[0, 100]]},
    "plant": {"capacity": {1: 200, 2: 400}, "batch": {"fixed_s": 0.5}},
    "goal": {"latency": {"target": 10}},
    "start": {"executors": 1, "trigger": 2, "maxOffsetsPerTrigger": 10000},
}  # fmt: skip


def scenario(**changes: Any) -> Scenario:
    """The small scenario; `plant` and `start` are merged, the rest is replaced."""
    for part in ("plant", "start"):
        changes[part] = BASE[part] | changes.get(part, {})
    return Scenario.model_validate(BASE | changes)


def plant(case: Scenario, seed: int = 1) -> Plant:
    """The plant of a scenario at its beginning."""
    return Plant(case, arrivals(case, seed), seed)


def batches(running: Plant, count: int) -> list[BatchRecord]:
    """The first batches of a plant."""
    while len(running.batches) < count and running.advance():
        pass
    return running.batches[:count]

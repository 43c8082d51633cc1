"""A driver whose code is still being compiled: its batches become faster without more executors."""

from __future__ import annotations

import pytest

from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import Scenario


def cold(seed: int) -> Run:
    """Calls of a service from a cold start; a minute later four times as much comes in."""
    case = {
        "name": "cold", "duration": 240, "tick": 3, "partitions": 4,
        "tuning": {"profile": "latency"},
        "plant": {
            "capacity": {1: 5500, 2: 9500, 3: 9500, 4: 17000}, "remote": {"latency_s": 0.008},
            "batch": {"fixed_s": 0.3, "per_task_s": 0.03, "noise": 0.12, "cold_s": 5,
                      "warming": 2.0},
            "waves": True, "metrics": {"direct_s": 2},
        },
        "load": {"step": [[0, 0], [9, 150], [69, 600]]},
        "goal": {"latency": {"percentile": 95, "target": "5s", "catchUp": "60s"}},
        "limits": {"executors": {"min": 1, "max": 4}},
        "start": {"executors": 1, "trigger": 2, "maxOffsetsPerTrigger": 5000, "maxInFlight": 1},
    }  # fmt: skip
    return simulate(Scenario.model_validate(case), seed)


@pytest.mark.parametrize("seed", [8, 15, 20])
def test_what_a_cold_driver_has_bought_goes_once_it_is_warm(seed: int) -> None:
    """One executor carries 600 records/s with calls to spare."""
    one = cold(seed)
    assert one.final.executors == 1
    settled = one.ticks[-1].decision.load
    assert settled is not None
    assert settled.value < 0.7

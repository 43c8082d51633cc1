"""Batches that grow, each as long as the one before let in: when a trial may end by one of them."""

from __future__ import annotations

import pytest

from trimtab.api.reasons import Reason
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import Scenario


def run(seed: int) -> Run:
    """160 records/s for a service that answers 110/s, after a minute of which nothing is tuned."""
    return simulate(Scenario.model_validate({
        "name": "drowning", "duration": 400, "tick": 2, "partitions": 12,
        "load": {"step": [[0, 16], [20, 160]]},
        "plant": {"capacity": {1: 5000}, "remote": {"latency_s": 0.008, "rate_limit": 110},
                  "batch": {"fixed_s": 0.4, "per_task_s": 0.02, "noise": 0.05}},
        "goal": {"latency": {"percentile": 95, "target": 12, "catchUp": 90}},
        "tuning": {"dwell": {"up": 7}, "pinned": {"trigger": 5, "maxOffsetsPerTrigger": 20000}},
        "limits": {"executors": {"min": 1, "max": 1}},
        "start": {"executors": 1, "trigger": 5, "maxOffsetsPerTrigger": 20000, "maxInFlight": 1},
    }), seed)  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_more_calls_are_not_kept_for_one_long_batch_that_is_not_learned(seed: int) -> None:
    done = run(seed)
    made = [tick.decision.reason for tick in done.changes]
    assert made == [Reason.CALLS_RAISED, Reason.TRIAL_NO_GAIN]
    assert done.final.max_in_flight == 1

"""A hot partition: nothing helps but to cut it, and that only where it is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.api.reasons import BottleneckKind, Reason
from trimtab.simulation.figures import figures
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import Scenario
from trimtab.simulation.verifiers import verify

CAPACITY = {p: 100 * p for p in range(1, 13)}


def run(seed: int, partitions: int = 12, skew: float = 0.4, **limits: Any) -> Run:
    return simulate(Scenario.model_validate({
        "name": "hot", "duration": 1800, "tick": 10, "partitions": partitions,
        "load": {"step": [[0, 100], [300, 350]]},
        "plant": {"capacity": CAPACITY, "skew": skew, "batch": {"fixed_s": 0.3, "noise": 0.05}},
        "goal": {"latency": {"percentile": 95, "target": 12, "catchUp": 600}},
        "tuning": {"bounds": {"higher": 0.8, "lower": 0.5}, "dwell": {"up": 2, "down": 6}},
        "limits": {"executors": {"min": 1, "max": 8}} | limits,
        "start": {"executors": 2, "trigger": 5, "maxOffsetsPerTrigger": 10000},
    }), seed)  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_hot_partition_is_cut_and_the_goal_held(seed: int) -> None:
    done = run(seed, tasks=64)
    split = [t for t in done.changes if t.decision.reason is Reason.PARTITIONS_SPLIT]
    assert len(split) == 1
    assert split[0].decision.bottleneck.kind is BottleneckKind.SKEW
    assert done.ticks[-1].decision.reason is Reason.WITHIN_BOUNDS
    assert done.final.executors <= 6
    assert all(verify(done).values())


@pytest.mark.parametrize("seed", [1, 2])
def test_without_leave_it_stays_and_says_what_holds_it_back(seed: int) -> None:
    done = run(seed)
    assert done.final.min_partitions is None
    assert figures(done)["slo_violation_s"] > 600
    after = [tick for tick in done.ticks if tick.at_s > 480]
    assert BottleneckKind.SKEW in {tick.decision.bottleneck.kind for tick in after}
    assert min(t.after.settings.executors for t in after) <= 4, "fewer carry as much"


@pytest.mark.parametrize("seed", [1, 2])
def test_more_executors_than_partitions_come_with_the_cut(seed: int) -> None:
    done = run(seed, partitions=2, skew=0.0, tasks=32)
    assert done.final.executors > 2
    assert done.final.min_partitions >= done.final.executors  # type: ignore[operator]
    assert done.ticks[-1].decision.reason is Reason.WITHIN_BOUNDS
    assert all(verify(done).values())

"""Too few partitions: the topic is raised where that is allowed, once, and only if nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.api.reasons import Action, BottleneckKind, Reason
from trimtab.simulation.figures import figures
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import Scenario
from trimtab.simulation.verifiers import verify

CAPACITY = {p: 100 * p for p in range(1, 13)}


def run(seed: int, plant: dict[str, Any] | None = None, partitions: int = 2, **limits: Any) -> Run:
    return simulate(Scenario.model_validate({
        "name": "few", "duration": 1800, "tick": 10, "partitions": partitions,
        "load": {"step": [[0, 100], [300, 350]]},
        "plant": {"capacity": CAPACITY, "batch": {"fixed_s": 0.3, "noise": 0.05}} | (plant or {}),
        "goal": {"latency": {"percentile": 95, "target": 12}},
        "limits": {"executors": {"min": 1, "max": 8}} | limits,
        "start": {"executors": 2, "trigger": 5, "maxOffsetsPerTrigger": 10000},
    }), seed)  # fmt: skip


def raised(done: Run) -> list[Any]:
    return [t for t in done.changes if t.decision.reason is Reason.PARTITIONS_RAISED]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_topic_is_raised_with_the_executors_and_the_goal_held(seed: int) -> None:
    done = run(seed, topicPartitions=32)
    (tick,) = raised(done)
    assert tick.decision.bottleneck.kind is BottleneckKind.SOURCE_PARTITIONS
    assert tick.decision.partitions == tick.after.settings.topic_partitions
    assert done.final.executors > 2
    assert done.ticks[-1].decision.reason is Reason.WITHIN_BOUNDS
    assert max(figures(done)["recover_s"]) < 600
    assert all(verify(done).values())


@pytest.mark.parametrize("seed", [1, 2])
def test_a_split_is_preferred_since_it_can_be_put_back(seed: int) -> None:
    done = run(seed, topicPartitions=32, tasks=32)
    assert raised(done) == []
    assert done.ticks[-1].decision.reason is Reason.WITHIN_BOUNDS


def test_without_leave_it_is_advised() -> None:
    done = run(1)
    assert raised(done) == []
    last = done.ticks[-1].decision
    assert last.reason in {Reason.SATURATED, Reason.GOAL_INFEASIBLE}
    assert last.partitions is not None
    assert last.partitions >= 8


def test_state_forbids_it() -> None:
    done = run(1, {"state": {"commit_s": 0.01}}, topicPartitions=32)
    assert raised(done) == []
    assert any(t.decision.reason is Reason.TOPIC_FIXED for t in done.ticks)


@pytest.mark.parametrize("seed", [1, 2])
def test_one_hot_key_is_not_helped_and_the_topic_not_raised_again(seed: int) -> None:
    done = run(seed, {"skew": 0.4}, partitions=12, topicPartitions=200)
    assert len(raised(done)) <= 2
    ends = [t.decision for t in done.ticks if t.decision.action is Action.REVERT]
    assert any("none can be removed" in end.message for end in ends)
    assert done.ticks[-1].decision.action is Action.HOLD

"""Too few executors allowed: larger ones, where that is allowed, by a restart of the driver."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.api.reasons import Reason
from trimtab.simulation.figures import figures
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import Scenario
from trimtab.simulation.verifiers import verify


def run(seed: int, rate: int = 350, cores: int = 1, **limits: Any) -> Run:
    return simulate(Scenario.model_validate({
        "name": "narrow", "duration": 2400, "tick": 10, "partitions": 24,
        "load": {"step": [[0, 100], [300, rate]]},
        "plant": {"capacity": {p: 100 * p for p in range(1, 25)},
                  "batch": {"fixed_s": 0.3, "noise": 0.05}},
        "goal": {"latency": {"percentile": 95, "target": 15, "catchUp": 600}},
        "tuning": {"bounds": {"higher": 0.8, "lower": 0.5}, "dwell": {"up": 2, "down": 6}},
        "limits": {"executors": {"min": 1, "max": 3}} | limits,
        "start": {"executors": 2, "cores": cores, "trigger": 5, "maxOffsetsPerTrigger": 10000},
    }), seed)  # fmt: skip


def raised(done: Run) -> list[Any]:
    return [t for t in done.changes if t.decision.reason is Reason.CORES_RAISED]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_executors_become_larger_once_there_may_be_no_more(seed: int) -> None:
    done = run(seed, executorCores=4)
    (tick,) = raised(done)
    assert tick.before.settings.executors == 3
    assert done.final.cores is not None
    assert done.final.executors * done.final.cores >= 4
    assert done.ticks[-1].decision.reason is Reason.WITHIN_BOUNDS
    assert figures(done)["recover_s"][-1] < 600
    assert all(verify(done).values())


@pytest.mark.parametrize("seed", [1, 2])
def test_what_the_cores_of_all_allow_is_kept(seed: int) -> None:
    done = run(seed, executorCores=8, cores=4)
    assert all(t.after.settings.executors * (t.after.settings.cores or 1) <= 4 for t in done.ticks)
    assert all(verify(done).values())


def test_without_leave_and_without_need_they_stay() -> None:
    assert raised(run(1)) == []
    assert run(1).ticks[-1].decision.reason in {Reason.SATURATED, Reason.GOAL_INFEASIBLE}
    assert raised(run(1, rate=200, executorCores=4)) == []


def test_executors_that_begin_with_more_slots_count_with_all_of_them() -> None:
    done = run(1, rate=200, cores=2)
    settings = done.scenario.settings()
    assert done.scenario.slots(settings) == 4
    assert settings.cores is None, "as the spec has them: nothing to clamp, no driver to restart"
    assert {t.decision.reason for t in done.changes} <= {Reason.EXECUTORS_RELEASED}
    seen = figures(done)
    assert seen["core_hours"] == pytest.approx(2 * done.final.executors * 2400 / 3600, rel=0.5)
    assert all(verify(done).values())

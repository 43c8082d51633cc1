"""The latency profile: the fewest executors first, then the shortest trigger that they carry."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.simulation.figures import figures
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import Scenario

LOADS: dict[str, Any] = {
    "even": {"step": [[0, 600]]},
    "steps": {"step": [[0, 150], [300, 600], [600, 150], [900, 600], [1200, 150]]},
}


def run(load: str, profile: str, seed: int, each: float = 700.0) -> Run:
    """A job whose batches take 0.45 s beside their records, from a trigger of 5 s."""
    case: dict[str, Any] = {
        "name": load, "duration": 1500, "warmup_s": 0, "tick": 3, "partitions": 4,
        "load": LOADS[load],
        "plant": {
            "capacity": {n: n * each for n in (1, 2, 3, 4)},
            "batch": {"fixed_s": 0.45, "noise": 0.1},
            "change": {"live_s": 15, "query_restart_s": 1.5},
            "metrics": {"scrape_s": 5},
        },
        "goal": {"latency": {"percentile": 95, "target": 5, "catchUp": 60}},
        "limits": {"executors": {"min": 1, "max": 4}},
        "tuning": {"profile": profile},
        "start": {"executors": 2, "trigger": 5, "maxOffsetsPerTrigger": 6000},
    }  # fmt: skip
    return simulate(Scenario.model_validate(case), seed)


def seconds(done: Run) -> float:
    """What the average batch takes from its first record to its end, once the loop has settled."""
    ends = [batch for batch in done.batches if batch.end_s > 1300]
    return sum(batch.end_s - batch.start_s for batch in ends) / len(ends) + done.final.trigger_s


SEEDS = pytest.mark.parametrize("seed", [1, 2, 3])


@SEEDS
@pytest.mark.parametrize("load", LOADS)
def test_records_wait_less_where_the_slots_have_room(load: str, seed: int) -> None:
    prompt, balanced = (run(load, profile, seed, 2000.0) for profile in ("latency", "balanced"))
    mine, theirs = figures(prompt), figures(balanced)
    assert seconds(prompt) < 0.6 * seconds(balanced)
    assert mine["core_hours"] <= 1.05 * theirs["core_hours"]
    assert mine["slo_violation_s"] <= theirs["slo_violation_s"]
    assert mine["exact"]


@SEEDS
@pytest.mark.parametrize("load", LOADS)
def test_executors_are_not_bought_for_a_short_trigger(load: str, seed: int) -> None:
    """Two are needed at 600 records/s and a trigger of 2 s; the wider band costs something too."""
    prompt, balanced = (run(load, profile, seed) for profile in ("latency", "balanced"))
    mine, theirs = figures(prompt), figures(balanced)
    assert mine["core_hours"] <= 1.35 * theirs["core_hours"]
    assert mine["slo_violation_s"] <= theirs["slo_violation_s"] + 10


@SEEDS
def test_an_even_load_sees_no_way_back(seed: int) -> None:
    done = run("even", "latency", seed)
    triggers = [t.after.settings.trigger_s for t in done.changes]
    executors = [t.after.settings.executors for t in done.changes]
    assert len(triggers) <= 4
    assert executors == sorted(executors, reverse=True)

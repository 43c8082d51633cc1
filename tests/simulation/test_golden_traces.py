"""Three traces of ten batches, computed by hand from the formulas of the scenario format.

Each row: start, records, end, backlog (arrived and not taken, at the end).
"""

from __future__ import annotations

import pytest

from trimtab.simulation.arrivals import arrivals
from trimtab.simulation.plant import Plant
from trimtab.simulation.scenario import Scenario
from trimtab.tuning.settings import Settings

Row = tuple[float, float, float, float]


def scenario(**changes: object) -> Scenario:
    base = {
        "name": "golden", "duration": 100, "tick": 50, "partitions": 4,
        "load": {"step": [[0, 100]]},
        "plant": {"capacity": {1: 200, 2: 400}, "batch": {"fixed_s": 0.5}},
        "goal": {"latency": {"target": 10}},
        "start": {"executors": 1, "trigger": 2, "maxOffsetsPerTrigger": 10000},
    }  # fmt: skip
    return Scenario.model_validate(base | changes)


def trace(plant: Plant) -> list[Row]:
    while len(plant.batches) < 10 and plant.advance():
        pass
    return [
        tuple(round(x, 6) for x in (b.start_s, b.records, b.end_s, b.backlog_after))  # type: ignore[misc]
        for b in plant.batches[:10]
    ]


def plant(case: Scenario) -> Plant:
    return Plant(case, arrivals(case, 1), 1)


# 100/s, T = 2: each batch holds 200 records and takes 0.5 + 200/200 = 1.5 s.
STEADY: list[Row] = [(2.0 * k, 200.0, 2.0 * k + 1.5, 150.0) for k in range(1, 11)]


def test_steady_load() -> None:
    assert trace(plant(scenario())) == STEADY


# 300 records/s against 200/s, limit 400: D = 0.5 + 400/200 = 2.5 s > T, so the next batch starts
# at once ("spark": max(end, the edge after its start)). Backlog at the end = 300·end − taken.
#   2.0: 400 of 600            -> 4.5: 1350 − 400 = 950
#   4.5: 400                   -> 7.0: 2100 − 800 = 1300, and so on: + 750 − 400 = + 350 a batch
OVERLOAD: list[Row] = [(2.0 + 2.5 * k, 400.0, 4.5 + 2.5 * k, 950.0 + 350.0 * k) for k in range(10)]


def test_overload_runs_back_to_back_at_the_limit() -> None:
    case = scenario(
        load={"step": [[0, 300]]},
        start={"executors": 1, "trigger": 2, "maxOffsetsPerTrigger": 400},
    )
    assert trace(plant(case)) == OVERLOAD


# The same overload; a second executor is asked for at t = 0.5 and arrives at 5.5, in the batch that
# began at 4.5. Its overhead ends at 5.0, its work would last until 7.0: 1.5 s are left at 5.5, and
# take 0.75 s at twice the capacity: end 6.25. From then on D = 0.5 + 400/400 = 1.5 s < T.
#   2.0 -> 4.5   backlog 1350 − 400 = 950
#   4.5 -> 6.25  backlog 1875 − 800 = 1075
#   6.25 (the edge after 4.5 is 6.0, so at once) -> 7.75: 2325 − 1200 = 1125
#   8.0 (the edge after 6.25) -> 9.5: 2850 − 1600 = 1250; 10.0 -> 11.5: 3450 − 2000 = 1450
#   then every 2 s: + 600 − 400 = + 200
ARRIVAL: list[Row] = [
    (2.0, 400.0, 4.5, 950.0),
    (4.5, 400.0, 6.25, 1075.0),
    (6.25, 400.0, 7.75, 1125.0),
    (8.0, 400.0, 9.5, 1250.0),
    *((10.0 + 2 * k, 400.0, 11.5 + 2 * k, 1450.0 + 200 * k) for k in range(6)),
]


def test_an_executor_that_arrives_in_mid_batch_takes_part_in_the_rest() -> None:
    case = scenario(
        load={"step": [[0, 300]]}, tick=0.5,
        start={"executors": 1, "trigger": 2, "maxOffsetsPerTrigger": 400},
    )  # fmt: skip
    running = plant(case)
    running.advance()
    assert running.now_s == pytest.approx(0.5)
    running.apply(1, Settings(2, 2.0, 400))
    assert trace(running) == ARRIVAL
    assert [b.executors_min for b in running.batches[:3]] == [1, 1, 2]


def test_a_trigger_that_is_a_cap_keeps_the_seeds_numbers() -> None:
    """At 500 ms: wait 14 ms when 486 have passed; after 523 or 1400 ms release at once."""
    waits = []
    for took in (0.486, 0.523, 1.400):
        case = scenario(
            load={"step": [[0, 1000]]},
            plant={"capacity": {1: 1e9}, "batch": {"fixed_s": took}, "trigger": "cap"},
            start={"executors": 1, "trigger": 0.5, "maxOffsetsPerTrigger": 100},
        )
        running = plant(case)
        while len(running.batches) < 3 and running.advance():
            pass
        first, second = running.batches[1:3]
        waits.append(round(second.start_s - first.end_s, 3))
    assert waits == [0.014, 0.0, 0.0]

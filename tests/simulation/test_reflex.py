"""The driver's reflex in virtual time: faster than the loop, and never beyond what it was given."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.plants import plant, scenario
from trimtab.api.contract import Carries, Reflex
from trimtab.api.reasons import Reason
from trimtab.simulation.events import Kind
from trimtab.simulation.figures import figures
from trimtab.simulation.plant import Plant
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import Scenario
from trimtab.simulation.verifiers import verify

TABLE = Reflex(
    generation=0, pipeline_uid="small", expires_s=60, catch_up_s=60, in_flight_s=6,
    steps=(Carries(executors=1, rate=120), Carries(executors=2, rate=240),
           Carries(executors=3, rate=330)),
)  # fmt: skip


def alone(**changes: Any) -> Plant:
    """A driver with a table and no operator."""
    made = plant(scenario(**({"tuning": {"reflex": True}} | changes)))
    made.reflex.table = TABLE
    while made.advance():
        pass
    return made


def test_it_raises_three_seconds_after_a_step_though_no_operator_lives() -> None:
    made = alone(load={"step": [[0, 100], [20, 200]]})
    assert made.reflex.raises == [(23, 2)]
    assert (made.reflex.raised_to, made.fleet.requested) == (2, 2)
    assert (made.generation, made.settings.executors) == (0, 1), "the settings stay"


@pytest.mark.parametrize(
    ("changes", "table"),
    [
        ({"load": {"step": [[0, 100], [70, 200]]}}, TABLE),
        ({"load": {"step": [[0, 100], [20, 200]]}}, TABLE.model_copy(update={"generation": 1})),
        ({"load": {"step": [[0, 100], [20, 200]]}, "tuning": {}}, TABLE),
        ({"load": {"step": [[0, 100], [20, 130]]}}, TABLE),
        ({"load": {"step": [[0, 200], [20, 50]]}, "start": {"executors": 3}}, TABLE),
    ],
    ids=["expired", "of another generation", "off", "not urgent", "never down"],
)
def test_it_leaves_the_rest_to_the_operator(changes: dict[str, Any], table: Reflex) -> None:
    made = plant(scenario(**({"tuning": {"reflex": True}} | changes)))
    made.reflex.table = table
    while made.advance():
        pass
    assert made.reflex.raises == []


def test_it_asks_for_no_more_than_the_table_has() -> None:
    made = alone(load={"step": [[0, 100], [20, 5000]]})
    assert made.reflex.raises == [(21, 2), (23, 3)], "what waits asks first, then what comes in"


def test_settings_end_a_raise() -> None:
    made = plant(scenario(load={"step": [[0, 200]]}, tuning={"reflex": True}))
    made.reflex.table = TABLE
    while (event := made.advance()) and event.at_s < 50:
        assert event.kind in {Kind.SCRAPE, Kind.TICK}
    assert made.reflex.raised_to == 2
    made.apply(1, made.settings)
    assert (made.reflex.raised_to, made.fleet.requested) == (None, 1)


def steps(*, reflex: bool) -> Scenario:
    capacity = {p: 200.0 * p**0.9 for p in range(1, 11)}
    return Scenario.model_validate({
        "name": "case", "duration": 1800, "tick": 10, "partitions": 64, "warmup_s": 900,
        "load": {"step": [[0, 300], [300, 1000], [700, 300], [1200, 1000]], "noise": 0.05},
        "plant": {"capacity": capacity, "batch": {"fixed_s": 0.3, "noise": 0.05},
                  "metrics": {"scrape_s": 5, "delay_s": 5}},
        "goal": {"latency": {"target": 8, "catchUp": 600}},
        "limits": {"executors": {"min": 1, "max": 10}},
        "tuning": {
            "bounds": {"higher": 0.8, "lower": 0.5}, "dwell": {"up": 2, "down": 4},
            "reflex": reflex,
        },
        "start": {"executors": 3, "trigger": 2, "maxOffsetsPerTrigger": 20000},
    })  # fmt: skip


@pytest.fixture(scope="module")
def run() -> Run:
    return simulate(steps(reflex=True), 1)


def test_a_load_that_was_learned_is_met_with_hardly_a_violation(run: Run) -> None:
    without = figures(simulate(steps(reflex=False), 1), lambda _: {})
    assert without["slo_violation_s"] > 20
    assert figures(run, lambda _: {})["slo_violation_s"] < without["slo_violation_s"] / 3


def test_every_raise_is_adopted_within_two_ticks_and_counts_as_cost(run: Run) -> None:
    adopted = [t.at_s for t in run.changes if t.decision.reason is Reason.RAISED_BY_DRIVER]
    assert adopted
    for at_s, _ in run.raises:
        assert any(at_s < each <= at_s + 25 for each in adopted)
    hours = figures(run, lambda _: {})["core_hours"]
    uncounted = figures(
        Run(run.scenario, run.seed, run.ticks, run.batches, run.arrivals, run.final), lambda _: {}
    )["core_hours"]
    assert hours > uncounted


def test_the_named_verifiers_hold(run: Run) -> None:
    verdicts = verify(run)
    assert all(verdicts.values()), verdicts

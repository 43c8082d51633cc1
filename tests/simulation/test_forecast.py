"""Forecasts in the closed loop: earlier raises, and no higher price where they are wrong."""

from __future__ import annotations

from bench.forecast import DAY_S, SHAPES, Shape

from trimtab.api.reasons import Reason
from trimtab.simulation.figures import figures, violating_seconds
from trimtab.simulation.run import Run, simulate


def played(shape: Shape, *, forecast: bool) -> Run:
    scenario = shape.scenario(forecast=forecast)
    if scenario.duration > DAY_S:
        metrics = scenario.plant.metrics.model_copy(update={"scrape_s": 20.0})
        plant = scenario.plant.model_copy(update={"metrics": metrics})
        scenario = scenario.model_copy(update={"tick": 30.0, "plant": plant})
    return simulate(scenario, 1)


def of(name: str) -> Shape:
    return next(shape for shape in SHAPES if shape.name == name)


def test_the_goal_is_violated_for_less_time_while_the_input_rises() -> None:
    off, on = (figures(played(of("rise"), forecast=known)) for known in (False, True))
    assert on["slo_violation_s"] < 0.9 * off["slo_violation_s"]
    assert on["core_hours"] < 1.1 * off["core_hours"]


def test_the_second_day_knows_the_first() -> None:
    morning = {"step": [(0, 500), (8 * 3600, 3500), (12 * 3600, 500), (DAY_S, 500),
                        (DAY_S + 8 * 3600, 3500)]}  # fmt: skip
    days = Shape("mornings", "", DAY_S + 9 * 3600, morning)
    off, on = (played(days, forecast=known) for known in (False, True))
    early = [tick for tick in on.changes if DAY_S + 7 * 3600 < tick.at_s < DAY_S + 8 * 3600]
    raised = [tick for tick in early if tick.decision.reason is Reason.EXECUTORS_RAISED]
    assert raised
    assert "records/s are usual on Fri 08:00 UTC" in raised[0].decision.message
    assert on.ticks[-1].after.forecasts.came == 1
    late = [sum(at_s > DAY_S for at_s in violating_seconds(run)) for run in (off, on)]
    assert late[0] > 60
    assert late[1] < 0.4 * late[0], "only batches that take twice as long are late"


def test_a_step_costs_nothing_more() -> None:
    off, on = (figures(played(of("steps"), forecast=known)) for known in (False, True))
    assert on["core_hours"] <= 1.02 * off["core_hours"]
    assert on["slo_violation_s"] <= off["slo_violation_s"]

"""The bench of sensing: what a way changes of a scenario, and that newer news violates less."""

from __future__ import annotations

from bench.runs import WORKLOADS
from bench.sensing import WAYS, do, sensed

from trimtab.simulation.scenario import load_scenario


def test_a_way_changes_how_the_plant_is_observed_and_nothing_else() -> None:
    scenario = load_scenario(WORKLOADS / "step.yaml")
    direct = sensed(scenario, "read directly")
    assert direct.plant.metrics.direct_s == 2
    assert sensed(direct, "scraped").plant.metrics.direct_s == 2, "it changes what it names"
    metrics = {"metrics": scenario.plant.metrics}
    assert direct.model_copy(update={"plant": direct.plant.model_copy(update=metrics)}) == scenario


def test_newer_news_violates_less() -> None:
    path = str(WORKLOADS / "spikes.yaml")
    found = {way: do((path, "white", 1, way))["slo_violation_s"] for way in WAYS}
    assert found["read directly"] < found["scraped"] / 2

"""What the operator exports of pipelines: complete, as the table has it, and gone with them."""

from __future__ import annotations

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families as parsed
from tests.unit.reconcile.stage import NAMESPACE, Stage
from tests.unit.reconcile.test_policies import put, run, started

from trimtab.adapters.clock import WallClock
from trimtab.adapters.telemetry import PrometheusTelemetry
from trimtab.api.pipeline_figures import PIPELINE
from trimtab.ports import Reading

LABELS = {figure.name: tuple(figure.labels) for figure in PIPELINE}
CLICKS = (NAMESPACE, "clicks")


def exported(stage: Stage) -> dict[str, dict[tuple[str, ...], float]]:
    """The series of pipelines by name, as a scrape would find them."""
    telemetry = PrometheusTelemetry(WallClock())
    for name, readings in stage.telemetry.pipelines.items():
        telemetry.pipeline(name, readings)
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in parsed(generate_latest(telemetry.registry).decode()):
        for sample in family.samples:
            if sample.name.startswith("trimtab_pipeline_"):
                name = sample.name.removeprefix("trimtab_")
                labels = tuple(sample.labels[label] for label in LABELS[name])
                found.setdefault(name, {})[labels] = sample.value
    return found


def test_a_pipeline_over_its_goal_says_all_that_an_alert_asks() -> None:
    stage = started("clicks")
    put(stage, "team", mode="Recommend")
    run(stage, "clicks", retention_deadline_seconds=80_000, retention_seconds=86_400)
    found = exported(stage)
    told = stage.status()
    missing = {figure.name for figure in PIPELINE} - found.keys()
    unpriced = {"pipeline_cost", "pipeline_cost_per_hour"}
    assert missing == {"pipeline_goal_records_per_second", "pipeline_effective"} | unpriced
    assert found["pipeline_goal_seconds"] == {CLICKS: 15.0}
    assert found["pipeline_retention_deadline_seconds"] == {CLICKS: 80_000.0}
    assert found["pipeline_load_ratio"][CLICKS] > 1.0
    lower, higher = (found["pipeline_load_bound_ratio"][*CLICKS, b] for b in ("lower", "higher"))
    assert 0 < lower < higher < found["pipeline_load_ratio"][CLICKS]
    assert found["pipeline_mode_info"] == {(*CLICKS, "Recommend"): 1.0}
    assert found["pipeline_condition"][*CLICKS, "Ready"] == 1.0
    assert found["pipeline_recommended"][*CLICKS, "executors"] == told["recommended"]["executors"]
    assert found["pipeline_recommendation_generation"] == {CLICKS: 1.0}
    assert found["pipeline_executor_cores"] == {CLICKS: 1.0}
    assert found["pipeline_policy_info"] == {
        (*CLICKS, "TuningPolicy/team", "mode", "Recommend"): 1.0
    }


def test_what_is_not_known_is_left_out() -> None:
    stage = Stage("clicks")
    stage.tick()
    found = exported(stage)
    assert "pipeline_observed_seconds" not in found
    assert "pipeline_load_ratio" not in found
    assert (*CLICKS, "GoalMet") not in found["pipeline_condition"]


def test_a_pipeline_that_is_gone_is_exported_no_more() -> None:
    stage = started("clicks", "orders")
    assert set(stage.telemetry.pipelines) == {CLICKS, (NAMESPACE, "orders")}
    del stage.cluster.objects["StreamPipeline", NAMESPACE, "orders"]
    stage.tick()
    assert set(stage.telemetry.pipelines) == {CLICKS}


def test_a_name_that_the_table_lacks_is_an_error() -> None:
    telemetry = PrometheusTelemetry(WallClock())
    telemetry.pipeline(CLICKS, [Reading("speed", 1.0)])
    with pytest.raises(KeyError):
        generate_latest(telemetry.registry)

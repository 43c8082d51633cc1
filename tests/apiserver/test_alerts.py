"""The alerts as Prometheus's own tool tries them: each fires when it must, and only then."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from tests import exposition
from tests.apiserver.promtool import promtool
from tests.unit.test_alerts import RULES

pytestmark = pytest.mark.apiserver

FILE = Path("charts/trimtab/files/rules.yaml").absolute()
OF = {"namespace": "team", "pipeline": "clicks"}
TICKS = "trimtab_operator_tick_duration_seconds_count"
NEVER = -1


def condition(type_: str, pipeline: str = "clicks") -> str:
    labels = f'pipeline_namespace="team", pipeline="{pipeline}", type="{type_}", pod="operator"'
    return f"trimtab_pipeline_condition{{{labels}}}"


def knob(name: str = "executors") -> str:
    return (
        f'trimtab_pipeline_effective{{pipeline_namespace="team", pipeline="clicks", knob="{name}"}}'
    )


def of_driver(name: str, labels: str = "") -> str:
    return f'trimtab_{name}{{namespace="team", pipeline="clicks", pod="clicks-driver-0"{labels}}}'


PENDING = of_driver("executors", ', state="pending"')
CANARY = "trimtab-canary"
OF_CANARY = OF | {"pipeline": CANARY}
DEADLINE = (
    'trimtab_pipeline_retention_deadline_seconds{pipeline_namespace="team", pipeline="clicks"}'
)


@dataclass(frozen=True)
class Case:
    """Series in promtool's notation, and from which minute on an alert fires."""

    alert: str
    what: str
    series: dict[str, str]
    fires: int
    """The first minute; `NEVER` in two hours."""
    labels: dict[str, str] = field(default_factory=lambda: dict(OF))
    every: str = "1m"
    """Time between two values."""

    def __str__(self) -> str:
        return f"{self.alert.removeprefix('Trimtab')}-{self.what.replace(' ', '-')}"


CASES = (
    Case("OperatorDown", "nothing is scraped", {}, 5, {}),
    Case("OperatorDown", "it hangs", {TICKS: "0+3x20 60x200"}, 20, {}, "30s"),
    Case("OperatorDown", "all stand by", {TICKS + '{pod="a"}': "0x120"}, 5, {}),
    Case("OperatorDown", "it ticks", {TICKS: "0+6x120"}, NEVER),
    Case("OperatorDown", "one of two stands by",
         {TICKS + '{pod="a"}': "0x120", TICKS + '{pod="b"}': "0+6x120"}, NEVER),
    Case("OperatorDown", "another takes over",
         {TICKS + '{pod="a"}': "0+6x10 stale", TICKS + '{pod="b"}': "0x10 0+6x110"}, NEVER),
    Case("MetricsMissing", "for long", {condition("MetricsAvailable"): "0x120"}, 10),
    Case("MetricsMissing", "for a while", {condition("MetricsAvailable"): "0x9 1x110"}, NEVER),
    Case("MetricsMissing", "suspended",
         {condition("MetricsAvailable"): "0x120", condition("Suspended"): "1x120"}, NEVER),
    Case("MetricsMissing", "stalled",
         {condition("MetricsAvailable"): "0x120", condition("Stalled"): "1x120"}, NEVER),
    Case("MetricsMissing", "while another is suspended",
         {condition("MetricsAvailable"): "0x120", condition("Suspended"): "0x120",
          condition("Suspended", "orders"): "1x120"}, 10),
    Case("PipelineStalled", "for long", {condition("Stalled"): "0x9 1x110"}, 15),
    Case("PipelineStalled", "for a while", {condition("Stalled"): "1x4 0x110"}, NEVER),
    Case("GoalUnmet", "for long", {condition("GoalMet"): "1x9 0x110"}, 25),
    Case("GoalUnmet", "now and then", {condition("GoalMet"): "0x13 1 0x13 1 0x13 1x80"}, NEVER),
    Case("GoalUnmet", "unknown", {condition("Ready"): "0x120"}, NEVER),
    Case("Saturated", "for long", {condition("Saturated"): "1x120"}, 15),
    Case("Saturated", "for a while", {condition("Saturated"): "1x14 0x100"}, NEVER),
    Case("Flapping", "up and down", {knob(): "1x4 3x4 1x4 3x4 1x4 3x4 1x4 3x4 1x80"}, 45,
         OF | {"knob": "executors"}),
    Case("Flapping", "up and down three times", {knob(): "1x4 3x4 1x4 3x4 1x4 3x4 1x90"}, NEVER),
    Case("Flapping", "slowly", {knob(): "1x19 3x19 1x19 3x19 1x19 3x19"}, NEVER),
    Case("Flapping", "only up", {knob(): "1+1x20 20x100"}, NEVER),
    Case("Flapping", "only down", {knob(): "20-1x19 1x100"}, NEVER),
    Case("ExecutorsMissing", "for long", {PENDING: "0x9 2x110"}, 20),
    Case("ExecutorsMissing", "while they start", {PENDING: "2x9 0x110"}, NEVER),
    Case("ExecutorsMissing", "none",
         {PENDING: "0x120", of_driver("executors", ', state="running"'): "3x120"}, NEVER),
    Case("BatchStuck", "for long", {of_driver("batch_stalled_seconds"): "0+60x30"}, 6),
    Case("BatchStuck", "it gets on",
         {of_driver("batch_stalled_seconds"): "0 120 240 0 120 240 0x99"}, NEVER),
    Case("LedgerMismatch", "once", {of_driver("ledger_mismatch_total"): "0x9 3x30"}, 10),
    Case("LedgerMismatch", "never", {of_driver("ledger_mismatch_total"): "0x120"}, NEVER),
    Case("LedgerMismatch", "long ago", {of_driver("ledger_mismatch_total"): "3x120"}, NEVER),
    Case("RecordsMissing", "some", {of_driver("missing_records"): "0x9 2x110"}, 15),
    Case("RecordsMissing", "on their way", {of_driver("missing_records"): "0x9 2x3 0x100"}, NEVER),
    Case("LateRecords", "some", {of_driver("late_records_total"): "0x9 7x30"}, 10),
    Case("LateRecords", "none", {of_driver("late_records_total"): "0x120"}, NEVER),
    Case("DeadLetters", "some", {of_driver("dead_letters_total"): "0x9 7x30"}, 10),
    Case("DeadLetters", "none", {of_driver("dead_letters_total"): "0x120"}, NEVER),
    Case("RetentionDeadlineNear", "it comes near", {DEADLINE: "7200-60x110"}, 66),
    Case("RetentionDeadlineNear", "it keeps away", {DEADLINE: "7200x120"}, NEVER),
    Case("CanaryFails", "the goal is missed",
         {condition("GoalMet", CANARY): "1x9 0x110", condition("Ready", CANARY): "1x120"}, 20,
         OF_CANARY),
    Case("CanaryFails", "the goal is unknown from the beginning",
         {condition("Ready", CANARY): "0x120"}, 10, OF_CANARY),
    Case("CanaryFails", "it is gone", {condition("GoalMet", CANARY): "1x9 stale"}, 20, OF_CANARY),
    Case("CanaryFails", "the goal is met after a while",
         {condition("GoalMet", CANARY): "0x9 1x110", condition("Ready", CANARY): "1x120"}, NEVER),
    Case("CanaryFails", "there is none", {condition("GoalMet"): "0x120"}, NEVER),
)  # fmt: skip


def suite(case: Case) -> dict[str, Any]:
    """The case as promtool reads it: silent until the minute before, then firing."""
    name = f"Trimtab{case.alert}"
    firing = f'ALERTS{{alertname="{name}", alertstate="firing"}}'
    labels = case.labels | {"severity": RULES[name]["labels"]["severity"]}
    if "namespace" in RULES[name]["labels"]:
        labels["pipeline_namespace"] = labels["namespace"]
    told = ", ".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    series = f'ALERTS{{alertname="{name}", alertstate="firing", {told}}}'
    minutes = range(121) if case.fires == NEVER else range(case.fires)
    checks: list[dict[str, Any]] = [
        {"expr": f"sum by (alertname) ({firing})", "eval_time": f"{minute}m", "exp_samples": []}
        for minute in minutes
    ]
    if case.fires != NEVER:
        expected = [{"labels": series, "value": 1}]
        checks.append({"expr": firing, "eval_time": f"{case.fires}m", "exp_samples": expected})
    inputs = [{"series": name, "values": values} for name, values in case.series.items()]
    test = {"interval": case.every, "input_series": inputs, "promql_expr_test": checks}
    return {"rule_files": [str(FILE)], "evaluation_interval": "1m", "tests": [test]}


def test_the_rules_are_well_formed() -> None:
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", FILE)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_alert_fires_when_it_must_and_only_then(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "test.yaml"
    path.write_text(yaml.safe_dump(suite(case)))
    done = promtool("test", "rules", path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_tried_both_ways() -> None:
    for fires in (True, False):
        tried = {f"Trimtab{case.alert}" for case in CASES if (case.fires != NEVER) is fires}
        assert tried == set(RULES)


@pytest.mark.parametrize("registry", [exposition.driver, exposition.operator])
def test_nothing_is_said_against_what_is_exported(registry: Any) -> None:
    exported: CollectorRegistry = registry()
    text = generate_latest(exported)
    assert b"_created" not in text
    done = promtool("check", "metrics", given=text)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")

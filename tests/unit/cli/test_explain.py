"""`trimtab explain`: what the object holds, in words; a part that is missing is said so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.unit.reconcile.stage import Stage
from tests.unit.workloads.manifests import Json, changed, example

from trimtab.cli import main
from trimtab.cli.explain import explain
from trimtab.errors import BadInputError
from trimtab.tuning.capacity.fit import fit
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.controller_state import ControllerState, Score, Trial
from trimtab.tuning.settings import Settings


def condition(type_: str, status: str, reason: str, message: str = "") -> Json:
    when = "2026-01-01T00:00:00Z"
    return {"type": type_, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": when}  # fmt: skip


POINTS = (Point(2, 1000, 0.5, 5.0), Point(2, 4000, 0.5, 12.0), Point(4, 4000, 0.5, 6.5))
MEMORY = ControllerState(
    generation=7, settings=Settings(2, 10.0, 10_000), since_s=1_767_225_600.0, points=POINTS
)  # fmt: skip
STATUS: Json = {
    "observedGeneration": 1,
    "goal": {"target": "p95 15s", "observed": "12s"},
    "lag": {"records": 200, "time": "8s"},
    "partitions": 12,
    "executors": {"load": "0.90", "capacity": "0.10", "case": "LoadHighCapacityLow"},
    "pace": {"scrape": "5s", "tick": "10s"},
    "bottleneck": {"kind": "BatchOverhead", "evidence": "2.7 s of each trigger of 5 s"},
    "effective": {"executors": 2, "trigger": "10s", "maxOffsetsPerTrigger": 10000},
    "conditions": [
        condition("Ready", "True", "QueryRunning"),
        condition("GoalMet", "True", "GoalMet", "p95 12.0 s, goal 15 s"),
        condition("MetricsAvailable", "True", "Fresh"),
        condition("Tuning", "True", "WithinBounds", "load 0.60 lies within 0.50 and 0.80"),
    ],
    "decisions": [
        {"time": "2026-01-01T00:00:00Z", "action": "Change", "reason": "ExecutorsRaised",
         "message": "Concurrency: executors 1 -> 2", "generation": 7},
        {"time": "2026-01-01T00:01:00Z", "action": "Keep", "reason": "TrialKept",
         "message": "load 1.2 -> 0.6", "generation": 7},
    ],
}  # fmt: skip


def pipeline(memory: ControllerState | None = MEMORY, **status: Any) -> Json:
    manifest = changed(example("pipeline"), "limits.executors", {"min": 1, "max": 4})
    stored = json.loads(json.dumps(memory.to_dict())) if memory else None
    return manifest | {"status": STATUS | {"controller": stored} | status}


def part(text: str, heading: str) -> str:
    """The lines under one heading."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(heading))
    end = next((i for i in range(start + 1, len(lines)) if lines[i][:1].strip()), len(lines))
    return "\n".join(lines[start:end])


def test_the_goal_and_what_is_seen() -> None:
    text = explain(pipeline())
    assert text.splitlines()[0] == "StreamPipeline n/clicks, mode Auto"
    goal = part(text, "Goal")
    assert "p95 15s" in goal
    assert "observed 12s" in goal
    assert "met" in goal
    assert "200 records" in part(text, "Lag")


def test_a_goal_that_is_missed_or_not_judged_says_so() -> None:
    missed = condition("GoalMet", "False", "LatencyAboveTarget", "p95 20.0 s, goal 15 s")
    assert "not met" in part(explain(pipeline(conditions=[missed])), "Goal")
    assert "not known yet" in part(explain(pipeline(conditions=[])), "Goal")


def test_regime_bottleneck_and_settings() -> None:
    text = explain(pipeline())
    assert "since 2026-01-01T00:00:00Z" in part(text, "Regime")
    assert "load 0.60 lies within" in part(text, "Regime")
    assert "BatchOverhead: 2.7 s of each trigger" in part(text, "Bottleneck")
    settings = part(text, "Settings")
    assert "executors 2, trigger 10s, maxOffsetsPerTrigger 10000" in settings
    assert "generation 7" in settings


def test_settings_that_are_not_in_force_yet() -> None:
    text = explain(pipeline(effective={"executors": 1, "trigger": "10s"}))
    assert "executors 1 -> 2" in part(text, "Settings")


def test_advice_on_the_jvms_and_when_it_is_used() -> None:
    assert "JVM" not in explain(pipeline())
    often = {"memory": "2688Mi", "collector": "Parallel", "reason": "collected every 2 s"}
    words = {"reason": "smaller batches leave less alive"}
    told = pipeline(jvm={"executor": often, "driver": words})
    text = explain(told)
    assert "driver: smaller batches leave less alive; needs manual action" in text
    assert "executor: memory 2688Mi, collector Parallel: collected every 2 s; not applied" in text
    assert "limits.memory must say how far" in text
    allowed = changed(told, "limits.memory", "8Gi")
    assert "from the next driver start: 2Gi" in explain(allowed)
    pinned = changed(allowed, "tuning.jvm", {"executor": False})
    assert "tuning.jvm forbids it" in explain(pinned)


def test_an_open_trial() -> None:
    assert "none" in part(explain(pipeline()), "Trial")
    watched = Trial(
        knob="parallelism", generation=7, before=Settings(1, 10.0, 10_000),
        opened_at_s=1_767_225_600.0, raises=True, input_rate=280.0, load_before=1.2,
        predicted_load=0.65, settled=3, judged=1,
    )  # fmt: skip
    memory = ControllerState(generation=7, settings=MEMORY.settings, trial=watched)
    text = part(explain(pipeline(memory)), "Trial")
    assert "executors 1 -> 2" in text
    assert "load was 1.20, predicted 0.65" in text
    assert "3 batches left out, 1 judged" in text


def test_how_good_past_predictions_were() -> None:
    assert "no trial has been judged yet" in part(explain(pipeline()), "Predictions")
    score = Score().with_trial(kept=True, predicted=0.5, seen=0.6)
    score = score.with_trial(kept=False, predicted=0.5, seen=0.5)
    memory = ControllerState(generation=7, settings=MEMORY.settings, score=score)
    text = part(explain(pipeline(memory)), "Predictions")
    assert "1 of 2 trials kept; the load differed from the prediction by 10% on average" in text


@pytest.mark.parametrize(
    ("slow", "words"),
    [
        (0.0, "0.75 to 0.85; up to 0.05 higher where batches are known to be even"),
        (1.14, "0.78 to 0.88, 0.03 above the profile's: batches are even, nearly all take at most"
               " 1.14 times as long as predicted"),
    ],
)  # fmt: skip
def test_the_bounds_in_force_and_why_they_moved(slow: float, words: str) -> None:
    given = pipeline(replace(MEMORY, slow_batch=slow))
    given["spec"]["tuning"].pop("bounds", None)
    assert words in " ".join(part(explain(given), "Bounds").split())
    given["spec"]["tuning"]["bounds"] = {"higher": 0.8, "lower": 0.5}
    assert part(explain(given), "Bounds").split(maxsplit=1)[1] == "0.50 to 0.80"


def test_policies_and_what_they_change_are_told() -> None:
    told = [
        {"field": "mode", "value": "Recommend", "policy": "TuningPolicy/team"},
        {"field": "bounds", "value": "higher 0.9, lower 0.4", "policy": "TuningPolicy/team"},
        {"field": "executors.max", "value": "3", "policy": "ClusterTuningPolicy/fleet"},
    ]
    text = explain(pipeline(policies=told))
    assert text.splitlines()[0].endswith("mode Recommend")
    assert "0.40 to 0.90" in text
    assert (
        "mode Recommend, bounds higher 0.9, lower 0.4 (TuningPolicy/team);"
        " executors.max 3 (ClusterTuningPolicy/fleet)"
    ) in " ".join(text.split())


def test_the_capacity_is_that_of_the_model() -> None:
    text = part(explain(pipeline()), "Capacity")
    model = fit(POINTS, 1000)
    assert model
    for executors, how in ((1, "estimated"), (2, "learned"), (3, "estimated"), (4, "learned")):
        line = next(row for row in text.splitlines() if row.startswith(f"  {executors} exec"))
        assert f" {model.sustainable(executors, 10.0):.0f} records/s" in line
        assert how in line
        assert ("<- now" in line) == (executors == 2)


def test_the_reaction_time_follows_from_scrape_tick_and_dwell() -> None:
    text = part(explain(pipeline()), "Reaction")
    assert "too much load within 30s" in text
    assert "too little after 30s" in text
    slow = pipeline(pace={"scrape": "30s", "tick": "10s"})
    assert "within 100s" in part(explain(slow), "Reaction")
    patient = changed(pipeline(), "tuning.dwell", {"up": 4, "down": 6})
    assert "within 50s" in part(explain(patient), "Reaction")
    assert "after 50s" in part(explain(patient), "Reaction")
    assert "not known yet" in part(explain(pipeline(pace=None)), "Reaction")


def test_executors_beyond_the_partitions_cannot_help() -> None:
    assert "more than 12 executors" in part(explain(pipeline()), "Partitions")
    few = part(explain(pipeline(partitions=3)), "Partitions")
    assert "3, so more than 3 executors cannot help, though limits allow 4" in few
    wide = changed(pipeline(partitions=3), "resources.executor.cores", 2)
    assert "more than 2 executors" in part(explain(wide), "Partitions")
    rates = [
        row.split()[2] for row in part(explain(pipeline(partitions=3)), "Cap").splitlines()[1:]
    ]
    assert rates[1] != rates[2] == rates[3]
    assert "not known yet" in part(explain(pipeline(partitions=None)), "Partitions")


def test_partitions_that_are_split_are_more_tasks() -> None:
    split = replace(MEMORY, settings=replace(MEMORY.settings, min_partitions=4))
    rows = part(explain(pipeline(split, partitions=3)), "Capacity").splitlines()[1:]
    assert rows[3].split()[2] != rows[2].split()[2]


def test_many_executors_give_few_lines() -> None:
    wide = changed(pipeline(), "limits.executors", {"min": 1, "max": 500})
    rows = part(explain(wide), "Capacity").splitlines()
    assert 4 <= len(rows) <= 12
    assert any(row.startswith("  500 exec") for row in rows)


def test_slots_are_counted_by_the_cores_of_an_executor() -> None:
    wide = changed(pipeline(), "resources.executor.cores", 2)
    rows = part(explain(wide), "Capacity").splitlines()
    assert [row.split()[0] for row in rows if "learned" in row and "exec" in row] == ["1", "2"]


def test_decisions_one_per_line() -> None:
    rows = part(explain(pipeline()), "Decisions").splitlines()[1:]
    assert len(rows) == 2
    assert "2026-01-01T00:00:00Z" in rows[0]
    assert "Change ExecutorsRaised: Concurrency: executors 1 -> 2" in rows[0]


def test_what_needs_a_person() -> None:
    assert "nothing" in part(explain(pipeline()), "For you")
    conditions = [
        condition("Ready", "True", "QueryRunning"),
        condition("Stalled", "True", "ChildRefused", "quota"),
        condition("Saturated", "True", "Saturated", "no knob helps"),
        condition("MetricsAvailable", "False", "MetricsStale", "the heartbeat is old"),
    ]
    rows = part(explain(pipeline(conditions=conditions)), "For you")
    for words in ("Stalled ChildRefused: quota", "Saturated: no knob helps", "MetricsStale"):
        assert words in rows


def test_what_is_for_a_person_comes_first_a_recommendation_too() -> None:
    standing = {
        "generation": 3, "since": "2026-01-01T00:00:00Z", "changes": ["executors 1 -> 4"],
        "load": "1.84", "predictedLoad": "0.71", "cores": "1 -> 4",
    }  # fmt: skip
    text = explain(pipeline(recommendation=standing))
    assert text.splitlines()[2] == "For you to do"
    assert (
        "Recommended: executors 1 -> 4; load 1.84 -> 0.71, cores 1 -> 4. To apply it: kubectl"
        " annotate --overwrite spl clicks trimtab.dev/approve=3"
    ) in text


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_programs_get_the_same_words_by_name(tmp_path: Path, output: str) -> None:
    file = tmp_path / "pipeline.yaml"
    file.write_text(yaml.safe_dump(pipeline()))
    done = CliRunner().invoke(main, ["explain", "-f", str(file), "-o", output])
    read = yaml.safe_load(done.output)  # JSON is YAML
    assert read["title"] == "StreamPipeline n/clicks, mode Auto"
    assert read["forYouToDo"] == []
    assert read["facts"]["Lag"] == "200 records, the oldest 8s old"
    assert "2 executors" in read["facts"]["Capacity"]
    assert read["decisions"][0].endswith("Concurrency: executors 1 -> 2")


def test_a_driver_that_does_not_run_needs_nobody_for_its_metrics() -> None:
    conditions = [
        condition("Ready", "False", "DriverStarting"),
        condition("MetricsAvailable", "False", "NoMetrics", "the driver is not running yet"),
    ]
    assert "nothing" in part(explain(pipeline(conditions=conditions)), "For you")


def test_text_from_outside_cannot_steer_the_terminal() -> None:
    stalled = condition("Stalled", "True", "QueryFailed", "one\n\x1b[2Jtwo")
    text = explain(pipeline(conditions=[stalled]))
    assert "\x1b" not in text
    assert "one" in part(text, "For you")
    assert "two" in part(text, "For you").splitlines()[1]


@pytest.mark.parametrize("status", [None, {}, {"observedGeneration": -1}])
def test_a_pipeline_that_no_operator_has_seen(status: Json | None) -> None:
    manifest = example("pipeline")
    if status is not None:
        manifest["status"] = status
    text = explain(manifest)
    assert "no operator has processed it yet" in text
    assert "p95 15s" in text


def test_a_memory_that_does_not_read_is_said(capsys: Any) -> None:
    text = explain(pipeline(None, controller={"generation": "x"}))
    assert "unreadable" in text
    assert "12s" in part(text, "Goal")


def test_a_spec_that_does_not_read_is_refused_in_words() -> None:
    with pytest.raises(BadInputError, match="goal"):
        explain(changed(pipeline(), "goal", {}))


def test_what_the_loop_writes_can_be_explained() -> None:
    stage = Stage()
    stage.running()
    for batch in (6, 7):
        stage.overload(batch)
        stage.tick()
    text = explain(stage.get("StreamPipeline", "clicks"))
    assert "ExecutorsRaised" in part(text, "Decisions")
    assert "executors 1 -> 4" in part(text, "Trial")
    assert "records/s" in part(text, "Capacity")
    assert "too much load within 30s" in part(text, "Reaction")
    assert "more than 12 executors" in part(text, "Partitions")


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments], input=text)


def test_the_command_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "objects.yaml"
    other = changed(pipeline(), "suspend", True)
    other["metadata"] = other["metadata"] | {"name": "other"}
    listed = {"kind": "List", "items": [other]}
    path.write_text(yaml.safe_dump_all([example("kafka"), pipeline(), listed]))
    both = run("-f", str(path))
    assert both.exit_code == 0, both.output
    assert "n/clicks" in both.output
    assert "n/other, mode Auto, suspended" in both.output
    assert "n/other" not in run("clicks", "-f", str(path)).output
    missing = run("nobody", "-f", str(path))
    assert missing.exit_code == 1
    assert "no StreamPipeline 'nobody'" in missing.output


def test_the_command_reads_what_kubectl_prints() -> None:
    found = run("-f", "-", text=json.dumps(pipeline()))
    assert found.exit_code == 0
    assert "n/clicks" in found.output


@pytest.mark.parametrize("text", ["{", "- 1", "", "kind: StreamPipeline"])
def test_a_file_that_holds_none_is_refused_in_words(text: str) -> None:
    found = run("-f", "-", text=text)
    assert found.exit_code == 1
    assert "Error: " in found.output
    assert "Traceback" not in found.output


def test_the_command_asks_for_a_name() -> None:
    assert "NAME or -f FILE" in run().output


def test_the_command_says_when_there_is_no_cluster(tmp_path: Path) -> None:
    found = run("clicks", "--kubeconfig", str(tmp_path / "none"))
    assert found.exit_code == 1
    assert "kubeconfig" in found.output


def test_the_first_rule_is_told_by_the_half_that_does_not_hold() -> None:
    flow = {"state": "Starved", "evidence": "900 records wait at the source"}
    assert "First rule  Starved: 900 records wait" in explain(pipeline(flow=flow))
    assert "First rule  not known yet" in explain(pipeline())


def test_what_is_never_moved_is_told_with_its_reason() -> None:
    told = part(explain(pipeline(), everything=True), "Never moved")
    assert "--all names them" in part(explain(pipeline()), "Never moved")
    assert "spark.speculation: a second attempt of a task would write its records twice" in told


def test_the_case_of_load_and_capacity_comes_with_its_advice() -> None:
    said = explain(pipeline())
    assert "load 0.90, capacity 0.10: LoadHighCapacityLow; tasks wait although" in said
    assert "load and capacity are not known yet" in explain(pipeline(executors=None))


def test_the_reflex_is_told_only_when_it_is_on() -> None:
    assert "Reflex" not in explain(pipeline())
    on = changed(pipeline(), "tuning", {"reflex": True})
    assert "beyond 110% of what 2 executors carry at the higher bound" in part(
        explain(on), "Reflex"
    )
    assert "asks for up to 4 at once, without the operator" in part(explain(on), "Reflex")
    none = changed(pipeline(replace(MEMORY, points=())), "tuning", {"reflex": True})
    assert "before something is learned" in part(explain(none), "Reflex")

"""Runs that end: drained or at their deadline; between them the pipeline is suspended."""

from __future__ import annotations

import pytest
from tests.unit.reconcile.stage import POD, Stage, series

from trimtab.api.common import moment, timestamp
from trimtab.api.v1alpha1.runs import RUN_ANNOTATION, RunEnd, RunPhase, Runs, RunStatus
from trimtab.reconcile.decide.runs import step

MIDNIGHT = moment("2026-01-05T00:00:00Z")
HOURLY = Runs.model_validate({"schedule": "0 * * * *", "deadline": "30m"})
ONCE = Runs()


def after(runs: Runs, *states: tuple[float, int | None], asked: str | None = None) -> RunStatus:
    """The run after some ticks: seconds after midnight, and what is left then."""
    run: RunStatus | None = None
    for at_s, left in states:
        run = step(runs, run, MIDNIGHT + at_s, asked, left=left)
    assert run is not None
    return run


def test_a_schedule_waits_for_its_first_start() -> None:
    waiting = after(HOURLY, (600, None))
    assert (waiting.phase, waiting.next) == (RunPhase.WAITING, "2026-01-05T01:00:00Z")
    assert after(HOURLY, (600, None), (3590, None)).phase is RunPhase.WAITING
    begun = after(HOURLY, (600, None), (3600, None))
    assert (begun.phase, begun.started) == (RunPhase.RUNNING, "2026-01-05T01:00:00Z")


def test_a_run_ends_when_all_that_was_there_is_committed() -> None:
    running = ((600, None), (3600, None), (3610, None), (3620, 50))
    assert after(HOURLY, *running).phase is RunPhase.RUNNING
    ended = after(HOURLY, *running, (3700, 0))
    assert (ended.phase, ended.end) == (RunPhase.WAITING, RunEnd.DRAINED)
    assert (ended.since, ended.next) == ("2026-01-05T01:01:40Z", "2026-01-05T02:00:00Z")


def test_a_run_stops_at_its_deadline_and_a_start_during_it_is_left_out() -> None:
    slow = Runs.model_validate({"schedule": "0 * * * *", "deadline": "90m"})
    running = ((600, None), (3600, None), (7200, 50))
    assert after(slow, *running, (8990, 50)).phase is RunPhase.RUNNING
    late = after(slow, *running, (9000, 50))
    assert (late.phase, late.end) == (RunPhase.WAITING, RunEnd.DEADLINE_EXCEEDED)
    assert late.next == "2026-01-05T03:00:00Z"


def test_without_a_schedule_there_is_one_run_at_once() -> None:
    assert after(ONCE, (600, None)).phase is RunPhase.RUNNING
    ended = after(ONCE, (600, None), (700, 0), (90_000, None))
    assert (ended.phase, ended.next, ended.since) == (
        RunPhase.ENDED,
        None,
        timestamp(MIDNIGHT + 700),
    )


@pytest.mark.parametrize("runs", [ONCE, HOURLY])
def test_a_new_annotation_starts_a_run_once(runs: Runs) -> None:
    ended = after(runs, (600, None), (3600, None), (3610, 0), asked="first")
    assert ended.phase is not RunPhase.RUNNING
    again = step(runs, ended, MIDNIGHT + 3700, "second", left=None)
    assert (again.phase, again.asked) == (RunPhase.RUNNING, "second")
    done = step(runs, again, MIDNIGHT + 3720, "second", left=0)
    assert step(runs, done, MIDNIGHT + 3730, "second", left=None).phase is not RunPhase.RUNNING


def test_an_edited_schedule_counts_at_once() -> None:
    waiting = after(HOURLY, (600, None))
    daily = Runs.model_validate({"schedule": "30 0 * * *", "timeZone": "Europe/Berlin"})
    assert step(daily, waiting, MIDNIGHT + 610, None, left=None).next == "2026-01-05T23:30:00Z"


def test_a_start_that_nobody_was_there_for_is_made_up_for() -> None:
    assert after(HOURLY, (600, None), (20_000, None)).phase is RunPhase.RUNNING


def replicas(stage: Stage) -> int:
    found: int = stage.get("StatefulSet", "clicks-driver")["spec"]["replicas"]
    return found


def events(stage: Stage) -> list[str]:
    return [event[0] for event in stage.cluster.events]


def test_between_two_runs_nothing_runs_and_the_pipeline_says_when_it_will() -> None:
    stage = Stage("clicks")
    stage.edit("runs", {})
    stage.tick()
    stage.tick()
    assert replicas(stage) == 1
    stage.run_driver()
    stage.see(series("clicks", stage.clock.now_s + 10, start_backlog_records=70))
    stage.tick()
    assert stage.condition("Suspended") == ("False", "Active")
    assert stage.status()["run"]["phase"] == "Running"
    stage.see(series("clicks", stage.clock.now_s + 10, start_backlog_records=0))
    stage.tick()
    assert replicas(stage) == 0
    assert stage.condition("Suspended") == ("True", "RunEnded")
    assert stage.condition("Ready") == ("False", "RunEnded")
    assert {"RunStarted", "RunDrained"} <= set(events(stage))
    stage.cluster.delete(POD)
    stage.tick()
    live = stage.get("StreamPipeline", "clicks")
    live["metadata"].setdefault("annotations", {})[RUN_ANNOTATION] = "2"
    stage.cluster.put(live)
    stage.tick()
    assert replicas(stage) == 1
    assert stage.condition("Suspended") == ("False", "Active")
    stage.edit("suspend", True)
    stage.tick()
    assert replicas(stage) == 0
    assert stage.condition("Suspended") == ("True", "Suspended")
    stage.edit("suspend", False)
    stage.edit("runs", None)
    stage.tick()
    assert replicas(stage) == 1
    assert "run" not in stage.status()

"""The batch under way as evidence: what makes it late, and what explains its age otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.test_decision import batch, memory, open_trial, signals, snapshot

from trimtab.api.reasons import Action, Reason
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.capacity.running import Late, late
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.dwell import DwellCounter
from trimtab.tuning.law import decide
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Signals

MODEL = Model(out_s=1.0, fixed=0.0, per_record=((1, 0.01), (2, 0.01)), tasks=12)
"""D(n, p) = 1 + n/(100·p)."""

SETTINGS = Settings(executors=2, trigger_s=10.0, max_offsets=5000)


def under_way(**changes: Any) -> Signals:
    """500 records on two slots for 8 s: predicted 3.5 s, and 500 come in each trigger."""
    base = signals(
        batch=batch(executors_min=2), executors_running=2, running_s=8.0, running_records=500,
        running_executors_min=2, input_rate=50.0, input_rate_long=50.0,
    )  # fmt: skip
    return replace(base, **changes)


def seen(known: Signals, **changes: Any) -> Late | None:
    remembered: ControllerState = memory(settings=SETTINGS, **changes)
    return late(snapshot(known, remembered), remembered, MODEL)


def test_the_slowdown_makes_the_model_say_what_is_seen() -> None:
    found = seen(under_way())
    assert found is not None
    assert found.predicted_s == pytest.approx(3.5)
    assert MODEL.slowed(found.slowdown).duration_s(500, 2) == pytest.approx(8.0)
    assert found.words == "the running batch of 500 records has lasted 8 s, predicted 3.5 s"


def test_a_small_batch_is_not_blown_up_to_the_usual_size() -> None:
    """50 records for 8 s may be a pause: a usual batch takes as long, and no longer."""
    found = seen(under_way(running_records=50))
    assert found is not None
    assert MODEL.slowed(found.slowdown).duration_s(500, 2) == pytest.approx(8.0)


def test_a_large_batch_is_long_by_plan() -> None:
    assert seen(under_way(running_records=5000, running_s=38.0)) is None
    assert seen(under_way(running_records=5000, running_s=40.0))


def test_a_batch_that_the_driver_times_is_long_by_plan_too() -> None:
    assert seen(under_way(running_timed=True)) is None


OTHER = batch(executors_min=2, settings_generation=0)


@pytest.mark.parametrize(
    "changes",
    [
        {"running_s": 5.0},
        {"running_records": 0},
        {"running_executors_min": 1},
        {"running_executors_min": None},
        {"executors_running": 1},
        {"batch": OTHER},
        {"batch": None},
        {"input_rate": None, "input_rate_long": None},
        {"running_records": 50, "running_s": 3.4},
    ],
    ids="-".join,
)
def test_what_explains_its_age_otherwise_is_no_evidence(changes: dict[str, Any]) -> None:
    assert seen(under_way(**changes)) is None


def test_in_an_open_trial_it_is_no_evidence() -> None:
    assert seen(under_way(), trial=open_trial()) is None


def test_a_trial_is_held_against_what_the_late_batch_showed() -> None:
    """Three times slower: 4 executors that do 108/s have helped, though one once did 111/s."""
    before = Settings(1, 5.0, 2500)
    for slowdown, action in ((1.0, Action.REVERT), (3.0, Action.KEEP)):
        trial = open_trial(before=before, settled=3, judged=1, batch="1/19", slowdown=slowdown)
        remembered = memory(
            generation=2, settings=Settings(4, 5.0, 2500), trial=trial, surprise=3.0, unproven=1
        )
        known = signals(
            batch=batch(id=20, records=1400, duration_s=13.0, executors_min=4,
                        settings_generation=2),
            settings_generation=2, executors_running=4, input_rate=280.0,
            input_rate_long=280.0, lag_records=1500.0,
        )  # fmt: skip
        decision, _ = decide(snapshot(known, remembered), remembered)
        assert decision.action is action, decision.message


def test_it_is_over_and_the_decision_says_why() -> None:
    known = under_way(batch=batch(), executors_running=1, running_executors_min=1, running_s=70.0)
    before = memory(evidence=DwellCounter(over=1), taught="1/7")
    decision, after = decide(snapshot(known, before), before)
    assert decision.action is Action.CHANGE
    assert "; the running batch of 500 records has lasted 70 s, predicted" in decision.message
    assert after.trial is not None
    assert after.trial.slowdown > 1
    assert after.points == before.points
    assert (after.surprise, after.unproven) == (after.trial.slowdown, 1), "one more is enough"


def test_a_drain_that_has_become_slow_is_no_catching_up() -> None:
    before = memory(settings=Settings(4, 5.0, 2500))
    known = signals(
        batch=batch(records=2500, duration_s=5.8, executors_min=4), executors_running=4,
        input_rate=280.0, input_rate_long=280.0, lag_records=9000.0, running_executors_min=4,
        running_records=2500,
    )  # fmt: skip
    decision, _ = decide(snapshot(replace(known, running_s=7.0), before), before)
    assert decision.reason is Reason.CATCHING_UP
    decision, _ = decide(snapshot(replace(known, running_s=20.0), before), before)
    assert decision.reason is Reason.DWELLING

"""Trials that end without a verdict: what nothing has proved is not kept."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.test_decision import START, after_change, on_trial, open_trial, snapshot

from trimtab.api.reasons import Action, Reason
from trimtab.tuning.law import decide

NOW_S = 1000.0


def test_a_raise_of_which_no_batch_tells_is_put_back_and_remembered() -> None:
    before = on_trial(open_trial(opened_at_s=NOW_S - 310, batch="1/20"))
    decision, after = decide(snapshot(after_change(4, 3.6), before), before)
    assert (decision.action, decision.reason) == (Action.REVERT, Reason.TRIAL_UNPROVEN)
    assert "too few batches came in 310 s" in decision.message
    assert after.settings.executors == 1
    assert after.verdicts[0].knob == "parallelism"
    assert after.score.trials == 0, "nothing was judged"


def test_a_release_of_which_no_batch_tells_stays_unproven() -> None:
    fewer = open_trial(
        opened_at_s=NOW_S - 310, batch="1/20", raises=False, before=replace(START, executors=5)
    )
    before = on_trial(fewer)
    decision, after = decide(snapshot(after_change(4, 3.6), before), before)
    assert (decision.action, decision.reason) == (Action.UNPROVEN, Reason.TRIAL_UNPROVEN)
    assert after.settings.executors == 4


@pytest.mark.parametrize(("duration_s", "ends"), [(60.0, True), (70.0, False)])
def test_long_batches_are_waited_for(duration_s: float, *, ends: bool) -> None:
    """Five of 60 s would have come in 300 s, and five of 70 s not yet."""
    before = on_trial(open_trial(opened_at_s=NOW_S - 310, batch="1/20"))
    decision, _ = decide(snapshot(after_change(4, duration_s), before), before)
    assert (decision.reason is Reason.TRIAL_UNPROVEN) is ends


@pytest.mark.parametrize(
    ("input_rate", "slowdown", "put_back"),
    [(40.0, 3.0, True), (280.0, 3.0, False), (40.0, 1.0, False)],
    ids=["a pause", "needed", "no late batch"],
)
def test_a_raise_for_one_late_batch_is_put_back_once_the_settings_before_are_enough(
    input_rate: float, slowdown: float, *, put_back: bool
) -> None:
    opened = open_trial(settled=3, batch="1/19", slowdown=slowdown, input_rate=input_rate)
    before = on_trial(opened)
    seen = replace(
        after_change(4, 1.5), input_rate=input_rate, input_rate_long=input_rate, lag_records=200.0
    )
    decision, after = decide(snapshot(seen, before), before)
    assert (decision.reason is Reason.BATCH_WAS_LATE) is put_back
    assert after.settings.executors == (1 if put_back else 4)
    assert after.verdicts == (), "a pause is no verdict on executors"


@pytest.mark.parametrize(
    ("duration_s", "predicted"), [(6.0, 0.69), (1.5, 0.1)], ids=["slow batch", "high load"]
)
def test_a_raise_is_not_put_back_while_batches_are_still_slow(
    duration_s: float, predicted: float
) -> None:
    """What the settings before could carry at the old pace, they do not at the new one."""
    opened = open_trial(settled=3, batch="1/19", slowdown=3.0, input_rate=40.0)
    opened = replace(opened, predicted_load=predicted)
    before = on_trial(opened)
    seen = replace(
        after_change(4, duration_s), input_rate=40.0, input_rate_long=40.0, lag_records=200.0
    )
    decision, after = decide(snapshot(seen, before), before)
    assert decision.reason is not Reason.BATCH_WAS_LATE
    assert after.settings.executors == 4


@pytest.mark.parametrize(("knob", "stays"), [("parallelism", True), ("peak", False)])
def test_capacity_that_was_taken_away_on_trial_comes_back_if_the_load_changes(
    knob: str, *, stays: bool
) -> None:
    """Else it would be raised again, and taken away again, as long as the input moves."""
    opened = open_trial(knob=knob, before=replace(START, executors=8), input_rate=100.0)
    before = on_trial(opened)
    seen = replace(after_change(4, 3.6), input_rate=140.0, input_rate_long=140.0)
    decision, after = decide(snapshot(seen, before), before)
    assert decision.reason is Reason.TRIAL_UNPROVEN
    assert after.settings.executors == (4 if stays else 8)
    assert bool(after.verdicts) is not stays, "what comes back is not tried again at once"


def test_a_raise_ends_when_nothing_comes_in_and_may_be_made_again() -> None:
    before = on_trial(open_trial(batch="1/20"))
    seen = replace(
        after_change(4, 3.6), input_rate=0.0, input_rate_long=0.0, lag_records=0.0, lag_s=0.0
    )
    assert seen.idle
    decision, after = decide(snapshot(seen, before), before)
    assert (decision.action, decision.reason) == (Action.REVERT, Reason.IDLE)
    assert after.settings.executors == 1
    assert after.verdicts == (), "it is no verdict on executors"

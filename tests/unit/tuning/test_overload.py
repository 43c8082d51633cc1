"""A batch larger than all before that takes far longer than they predict lowers the limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trimtab.api.reasons import Action, Reason
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.controller_state import ControllerState, Trial
from trimtab.tuning.decision import Decision
from trimtab.tuning.law import decide
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Batch, Signals, Snapshot

NOW = Settings(executors=4, trigger_s=5.0, max_offsets=200_000)
POINTS = (
    Point(4, 4000, 0.2, 2.2, batches=5), Point(4, 8000, 0.2, 4.2, batches=5),
)  # fmt: skip
"""2,000 records/s on four slots, in batches of up to 2,000 records for each of them."""

FULL = Batch(
    run=1, id=9, committed_at_s=990.0, records=60_000, duration_s=300.0, overhead_s=0.2,
    settings_generation=3, executors_min=4, since_start=9,
)  # fmt: skip
ASKED = Policy(
    target_s=12.0, quantile=0.95, rate=None, catch_up_s=60.0, min_executors=1, max_executors=8
)


def decided(
    batch: Batch = FULL, asked: Policy = ASKED, running: dict[str, Any] | None = None,
    **memory: Any,
) -> tuple[Decision, ControllerState]:  # fmt: skip
    state = replace(ControllerState(generation=3, settings=NOW, points=POINTS), **memory)
    seen = Signals(
        sampled_at_s=999.0, settings_generation=3, rejected_generation=0, batch=batch,
        input_rate=1500.0, input_rate_long=1500.0, lag_records=300_000.0, partitions=32,
        executors_running=4, executors_pending=0,
    )  # fmt: skip
    seen = replace(seen, **running or {})
    return decide(Snapshot(1000.0, asked, state.settings, seen), state)


def test_the_limit_goes_back_to_the_largest_known_size_without_a_trial() -> None:
    decision, after = decided()
    assert decision.reason is Reason.BATCH_LIMIT_LOWERED
    assert after.settings == replace(NOW, max_offsets=9400)  # 1500 records/s × 5 s / 0.8
    assert after.trial is None
    assert "the batch of 60000 records took 300 s, 30.2 s were predicted" in decision.message


def test_it_teaches_nothing_but_where_such_batches_have_to_be() -> None:
    _, after = decided()
    assert (after.points, after.surprise) == (POINTS, 0.0)
    _, after = decided(asked=replace(ASKED, pinned={"maxOffsetsPerTrigger": 200_000}))
    assert after.surprise > 1
    _, after = decided(running={"input_rate": 10_000.0, "input_rate_long": 10_000.0})
    assert after.surprise > 1, "60,000 records are a batch of this input"


@pytest.mark.parametrize(
    "batch",
    [
        replace(FULL, duration_s=70.0),  # 2.3 times the prediction
        replace(FULL, records=11_000),  # less than 1.5 times as large
        replace(FULL, replayed=True),
        replace(FULL, timed=True),
        replace(FULL, settings_generation=2),
        replace(FULL, since_start=1, duration_s=90.0),  # 15 s above, when 20 are usual
    ],
)
def test_other_batches_leave_it_alone(batch: Batch) -> None:
    decision, _ = decided(batch)
    assert decision.reason is not Reason.BATCH_LIMIT_LOWERED


@pytest.mark.parametrize(
    "asked",
    [
        replace(ASKED, pinned={"maxOffsetsPerTrigger": 200_000}),
        replace(ASKED, locked=frozenset({"maxOffsetsPerTrigger"})),
        replace(ASKED, target_s=None, maximum=True),
    ],
)
def test_a_limit_that_is_not_ours_stays(asked: Policy) -> None:
    _, after = decided(asked=asked)
    assert after.settings.max_offsets == 200_000


def test_without_a_backlog_nothing_has_to_be_done() -> None:
    decision, _ = decided(running={"lag_records": 6000.0, "input_rate": 500.0,
                                   "input_rate_long": 500.0})  # fmt: skip
    assert decision.reason is not Reason.BATCH_LIMIT_LOWERED


def test_who_only_observes_is_told() -> None:
    decision, after = decided(asked=replace(ASKED, mode=Mode.OBSERVE))
    assert decision.reason is Reason.OBSERVE_ONLY
    assert "maxOffsetsPerTrigger 200000 -> 9400" in decision.message
    assert after.settings == NOW


OPEN = Trial(
    knob="parallelism", generation=3, before=replace(NOW, executors=2), opened_at_s=900.0,
    raises=True, input_rate=1500.0, load_before=2.0, predicted_load=0.8,
)  # fmt: skip
RUNNING = {
    "batch": replace(FULL, records=8000, duration_s=4.2),
    "running_records": 60_000, "running_s": 100.0, "running_executors_min": 4,
}  # fmt: skip


def test_a_batch_under_way_is_enough_once_executors_were_raised() -> None:
    decision, after = decided(running=RUNNING, trial=OPEN)
    assert decision.reason is Reason.BATCH_LIMIT_LOWERED
    assert "the running batch of 60000 records has lasted 100 s" in decision.message
    assert (after.trial, after.settings.executors) == (None, 4)
    decision, _ = decided(running=RUNNING)
    assert decision.reason is not Reason.BATCH_LIMIT_LOWERED, "executors may help this one"


def test_a_trial_that_had_raised_it_has_failed() -> None:
    before = replace(NOW, max_offsets=20_000)
    decision, after = decided(trial=replace(OPEN, knob="batch-size", before=before))
    assert (decision.action, decision.reason) == (Action.REVERT, Reason.TRIAL_NO_GAIN)
    assert after.settings == before
    assert [verdict.knob for verdict in after.verdicts] == ["batch-size"]


def test_where_only_such_batches_are_known_the_limit_is_that_of_the_input() -> None:
    known = (Point(8, 200_000, 0.2, 300.0, batches=3),)
    full = replace(FULL, records=200_000, executors_min=8)
    most = {"settings": replace(NOW, executors=8), "points": known}
    decision, after = decided(full, running={"executors_running": 8}, **most)
    assert decision.reason is Reason.BATCH_LIMIT_LOWERED
    assert after.settings.max_offsets == 9400
    fewer = {"settings": replace(NOW, executors=4), "points": known}
    decision, _ = decided(replace(full, executors_min=4), **fewer)
    assert decision.reason is not Reason.BATCH_LIMIT_LOWERED, "more executors come first"

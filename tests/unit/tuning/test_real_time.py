"""The law of real-time mode: a slot for each partition, and a longer interval for a lower tail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.test_decision import batch, memory, policy, signals, snapshot

from trimtab.api.ranges import Range
from trimtab.api.reasons import Action, Reason
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.decision import Decision, Step
from trimtab.tuning.governance.windows import Closed
from trimtab.tuning.law import decide
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import OVERDUE_S, ExternalConstraints, observed_latency

FAST = {"target_s": 0.2, "max_executors": 20}


def decided(
    executors: int = 12, trigger_s: float = 10.0, latency_s: float | None = 0.1,
    asked: dict[str, Any] | None = None, constraints: ExternalConstraints | None = None,
    **seen: Any,
) -> Decision:  # fmt: skip
    remembered = memory(settings=Settings(executors, trigger_s, 10_000))
    ended = batch(latency_s=latency_s, duration_s=trigger_s)
    now = signals(**{"real_time": True, "batch": ended, "lag_records": 9000.0, "lag_s": 9.0} | seen)
    taken = snapshot(now, remembered, policy(**FAST | (asked or {})))
    if constraints:
        taken = replace(taken, constraints=constraints)
    decision, after = decide(taken, remembered)
    assert after.settings == (decision.settings if decision.moves else remembered.settings)
    assert after.trial is None
    return decision


@pytest.mark.parametrize(("executors", "changes"), [(1, "1 -> 12"), (20, "20 -> 12")])
def test_each_partition_gets_a_slot_and_nothing_more(executors: int, changes: str) -> None:
    decision = decided(executors)
    assert decision.action is Action.CHANGE
    assert decision.changes == (f"executors {changes}",)
    assert "12 partitions need a slot each at once" in decision.message


def test_executors_with_more_cores_are_fewer() -> None:
    assert decided(1, asked={"cores": 4}).changes == ("executors 1 -> 3",)


def test_limits_that_leave_partitions_without_a_slot_are_told() -> None:
    decision = decided(5, asked={"max_executors": 5})
    assert (decision.action, decision.reason) == (Action.HOLD, Reason.GOAL_INFEASIBLE)
    assert "12 executors, and there are 5; raise their limit" in decision.message


def test_a_goal_that_is_met_keeps_the_interval() -> None:
    decision = decided(latency_s=0.2)
    assert (decision.action, decision.reason) == (Action.HOLD, Reason.WITHIN_BOUNDS)
    assert decision.message == "p95 0.200 s in the last interval, goal 0.2 s"


@pytest.mark.parametrize(("now_s", "then_s"), [(5.0, 10.0), (10.0, 30.0)])
def test_a_goal_that_is_missed_lengthens_it(now_s: float, then_s: float) -> None:
    decision = decided(trigger_s=now_s, latency_s=0.3)
    assert decision.reason is Reason.TRIGGER_LENGTHENED
    assert decision.settings.trigger_s == then_s


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"trigger_s": 30.0}, Reason.SATURATED),
        ({"asked": {"pinned": {"trigger": 10.0}}}, Reason.SATURATED),
        ({"asked": {"locked": frozenset({"trigger"})}}, Reason.SATURATED),
        ({"asked": {"mode": Mode.OBSERVE}}, Reason.OBSERVE_ONLY),
        ({"asked": {"ranges": {"trigger": Range(most=10.0)}}}, Reason.SATURATED),
        ({"asked": {"pauses_per_hour": 0}}, Reason.TOO_MANY_PAUSES),
        ({"constraints": ExternalConstraints(others_changing="two others change")},
         Reason.TOO_MANY_CHANGES),
        ({"constraints": ExternalConstraints(closed=Closed("closed until 9"))},
         Reason.WINDOW_CLOSED),
        ({"batch": batch(latency_s=0.3, since_start=2)}, Reason.NO_BATCH_YET),
        ({"batch": None}, Reason.NO_BATCH_YET),
        ({"batch": batch(latency_s=None)}, Reason.LOAD_UNKNOWN),
        ({"partitions": None}, Reason.LOAD_UNKNOWN),
    ],
)  # fmt: skip
def test_what_keeps_it_as_it_is_is_told(how: dict[str, Any], reason: Reason) -> None:
    decision = decided(**{"latency_s": 0.3} | how)
    assert (decision.action, decision.reason) == (Action.HOLD, reason)


@pytest.mark.parametrize(
    ("how", "executors"),
    [
        ({"asked": {"ranges": {"executors": Range(most=8)}}}, 8),
        ({"constraints": ExternalConstraints(budget_executors=7)}, 7),
        ({"asked": {"pauses_per_hour": 0}}, 12),
    ],
)
def test_policies_bound_the_executors_and_no_pause_is_counted_for_them(
    how: dict[str, Any], executors: int
) -> None:
    assert decided(3, **how).settings.executors == executors


def test_a_window_that_lets_raises_through_lets_them_here_too() -> None:
    shut = {"constraints": ExternalConstraints(closed=Closed("closed until 9", raises=True))}
    assert decided(3, **shut).reason is Reason.EXECUTORS_RAISED
    assert decided(20, **shut).reason is Reason.WINDOW_CLOSED


def test_only_a_knob_that_moves_is_asked_for() -> None:
    decision = decided(1, asked={"approval": frozenset({"maxOffsetsPerTrigger"})})
    assert (decision.action, decision.changes) == (Action.CHANGE, ("executors 1 -> 12",))


@pytest.mark.parametrize(
    "asked", [{"mode": Mode.RECOMMEND}, {"approval": frozenset({"trigger"})}], ids=["mode", "knob"]
)
def test_a_change_waits_for_approval_and_keeps_its_number(asked: dict[str, Any]) -> None:
    held = memory(settings=Settings(12, 10.0, 10_000))
    for _ in range(2):
        decision, held = late(held, asked)
        assert decision.action is Action.RECOMMEND
        assert decision.message.endswith("approve it with the annotation trimtab.dev/approve=1")
        assert held.settings.trigger_s == 10.0
    wrong, held = late(held, asked, approved=7)
    assert wrong.message.endswith("(7 was another one)")
    decision, after = late(held, asked, approved=1)
    assert decision.action is Action.CHANGE
    assert after.settings.trigger_s == 30.0
    assert (after.recommendation, after.advice_record.approved) == (None, 1)
    assert len(after.paused_at_s) == 1, "the query restarts for it"


def test_a_recommendation_goes_when_the_goal_is_met() -> None:
    _, held = late(memory(settings=Settings(12, 10.0, 10_000)), {"mode": Mode.RECOMMEND})
    assert held.recommendation is not None
    _, after = late(held, {"mode": Mode.RECOMMEND}, latency_s=0.1)
    assert after.recommendation is None


def late(
    held: ControllerState, asked: dict[str, Any], *, approved: int | None = None,
    latency_s: float = 0.3,
) -> Step:  # fmt: skip
    """A decision about 12 partitions on 12 slots, by default with the goal of 0.2 s missed."""
    ended = batch(latency_s=latency_s, duration_s=10.0)
    now = signals(real_time=True, batch=ended, lag_records=9000.0, lag_s=9.0)
    seen = snapshot(now, held, policy(**FAST | asked))
    return decide(replace(seen, constraints=ExternalConstraints(approved=approved)), held)


def test_records_do_not_wait_for_the_commit() -> None:
    """Neither the age of the interval nor the lag, which grows until it ends, is a latency."""
    seen = signals(real_time=True, batch=batch(latency_s=0.1), running_s=25.0, lag_s=25.0)
    found = observed_latency(seen, 0.95)
    assert found is not None
    assert found.seconds == 0.1
    late = observed_latency(replace(seen, running_s=OVERDUE_S), 0.95)
    assert late is not None
    assert late.seconds == OVERDUE_S

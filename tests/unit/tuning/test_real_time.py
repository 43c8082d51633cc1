"""The law of real-time mode: a slot for each partition, and a longer interval for a lower tail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.test_decision import batch, memory, policy, signals, snapshot

from trimtab.api.reasons import Action, Reason
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.tuning.decision import Decision
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
        ({"asked": {"mode": Mode.RECOMMEND}}, Reason.OBSERVE_ONLY),
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


def test_records_do_not_wait_for_the_commit() -> None:
    """Neither the age of the interval nor the lag, which grows until it ends, is a latency."""
    seen = signals(real_time=True, batch=batch(latency_s=0.1), running_s=25.0, lag_s=25.0)
    found = observed_latency(seen, 0.95)
    assert found is not None
    assert found.seconds == 0.1
    late = observed_latency(replace(seen, running_s=OVERDUE_S), 0.95)
    assert late is not None
    assert late.seconds == OVERDUE_S

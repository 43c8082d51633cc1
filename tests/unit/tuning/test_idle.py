"""Scale to zero: when the executors go, when they come back, and what is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.test_decision import START, signals, snapshot

from trimtab.api.reasons import Action, Reason
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.tuning import idle
from trimtab.tuning.controller_state import ControllerState, Idle
from trimtab.tuning.governance.windows import Closed
from trimtab.tuning.law import decide
from trimtab.tuning.snapshot import ExternalConstraints, Snapshot

QUIET = {"input_rate": 0.0, "input_rate_long": 0.0, "lag_records": 0.0}
STATE = ControllerState(generation=3, settings=START)
ASLEEP = replace(STATE, idle=Idle(since_s=0.0, asleep=True))


def look(now_s: float, memory: ControllerState = STATE, **changes: Any) -> Snapshot:
    """A pipeline that may sleep after 600 s; by default nothing comes in."""
    policy = {"idle_after_s": 600.0} | changes.pop("policy", {})
    found = snapshot(signals(**QUIET | changes), memory)
    return replace(found, now_s=now_s, policy=replace(found.policy, **policy))


def asleep_after(now_s: float, **changes: Any) -> bool:
    memory = replace(STATE, idle=Idle(since_s=0.0))
    decided = idle.step(look(now_s, memory, **changes), memory)
    return decided is not None and decided[1].asleep


def test_all_executors_go_after_a_while_without_input() -> None:
    begun = idle.observe(look(0.0), STATE)
    assert begun.idle == Idle(since_s=0.0)
    assert idle.step(look(599.0), begun) is None
    decided = idle.step(look(600.0), begun)
    assert decided is not None
    decision, after = decided
    assert (decision.action, decision.reason) == (Action.CHANGE, Reason.IDLE)
    assert decision.changes == (f"executors {START.executors} -> 0",)
    assert (after.generation, after.in_force.executors) == (4, 0)
    assert after.settings == START


@pytest.mark.parametrize(
    "changes",
    [{"input_rate": 1.0}, {"lag_records": 1.0}, {"running_records": 1}, {"lag_records": None},
     {"policy": {"idle_after_s": None}}],
)  # fmt: skip
def test_what_comes_in_waits_or_is_unknown_is_not_idle(changes: dict[str, Any]) -> None:
    assert idle.observe(look(0.0, **changes), STATE).idle is None
    began = replace(STATE, idle=Idle(since_s=0.0))
    assert idle.observe(look(50.0, **changes), began).idle is None


@pytest.mark.parametrize(
    "policy", [{"mode": Mode.RECOMMEND}, {"pinned": {"executors": 2.0}},
               {"locked": frozenset({"executors"})}],
)  # fmt: skip
def test_executors_that_the_tuner_must_not_touch_stay(policy: dict[str, Any]) -> None:
    assert asleep_after(600.0)
    assert not asleep_after(600.0, policy=policy)


@pytest.mark.parametrize(
    ("policy", "closed"),
    [({"conflict": "two policies fight"}, ""), ({}, "no window is open")],
)
def test_policies_keep_a_pipeline_from_falling_asleep_and_not_from_waking(
    policy: dict[str, Any], closed: str
) -> None:
    outside = ExternalConstraints(closed=Closed(closed))
    idle_now = replace(STATE, idle=Idle(since_s=0.0))
    awake = replace(look(600.0, idle_now, policy=policy), constraints=outside)
    assert idle.step(awake, idle_now) is None
    woken = replace(look(600.0, ASLEEP, policy=policy, lag_records=7.0), constraints=outside)
    decided = decide(woken, ASLEEP)
    assert decided[0].reason is Reason.AWAKE


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"lag_records": 7.0}, "7 records wait after 2h without input"),
     ({"input_rate": 7.0}, "records come in after 2h"),
     ({"policy": {"idle_after_s": None}}, "the spec or a policy no longer allows zero executors")],
)  # fmt: skip
def test_the_first_record_brings_them_back(changes: dict[str, Any], why: str) -> None:
    decided = idle.step(look(7200.0, ASLEEP, **changes), ASLEEP)
    assert decided is not None
    decision, after = decided
    assert (decision.action, decision.reason) == (Action.CHANGE, Reason.AWAKE)
    assert why in decision.message
    assert after.in_force == START
    assert after.generation == 4


def test_who_sees_nothing_does_not_sleep_on() -> None:
    blind = replace(look(7200.0, ASLEEP), signals=None, no_signals="Prometheus is away")
    decided = idle.step(blind, ASLEEP)
    assert decided is not None
    assert "whether records wait is unknown: Prometheus is away" in decided[0].message
    assert not decided[1].asleep


def test_while_asleep_nothing_is_written() -> None:
    decided = idle.step(look(7200.0, ASLEEP), ASLEEP)
    assert decided is not None
    assert decided[0].action is Action.HOLD
    assert decided[1] == ASLEEP


def test_the_delay_of_the_first_batch_is_told_once() -> None:
    woke = replace(STATE, idle=Idle(since_s=0.0, woke_at_s=1000.0))
    before = look(1010.0, woke)
    assert before.signals
    assert before.signals.batch
    assert idle.step(before, woke) is None
    batch = replace(before.signals.batch, committed_at_s=1014.2, latency_s=17.5)
    decided = idle.step(look(1020.0, woke, batch=batch), woke)
    assert decided is not None
    assert decided[0].message == (
        "the first batch ended 14.2 s after the executors were asked for, its records waited 17.5 s"
    )
    assert decided[1].idle is None


def test_sleep_survives_the_status() -> None:
    assert ControllerState.from_dict(ASLEEP.to_dict()).asleep

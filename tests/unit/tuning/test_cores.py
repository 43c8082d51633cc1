"""Cores per executor: only once there may be no more executors, within the limits, by slots."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, batch, overloaded, policy

from trimtab.api.knobs import How
from trimtab.api.reasons import Action, Reason
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.v1alpha1.limits import ExecutorResources, Limits
from trimtab.tuning import guards, knobs
from trimtab.tuning.capacity import learning
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.capacity.running import Late
from trimtab.tuning.context import Context
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.dwell import DwellCounter
from trimtab.tuning.knobs import cores
from trimtab.tuning.law import decide
from trimtab.tuning.policy import Policy
from trimtab.tuning.snapshot import Snapshot

TWO = replace(START, executors=2, trigger_s=5.0)
POINTS = (Point(2, 250, 0.1, 2.5), Point(2, 2500, 0.1, 11.5))


def at(most: int | None = 8, **changes: Any) -> Context:
    """Two executors of one core, the most that there may be."""
    limits = {"max_executors": 2, "max_cores": most, "catch_up_s": 600.0} | changes.pop("asked", {})
    given = {"settings": TWO, "points": POINTS, "asked": policy(**limits)} | changes
    return context(load=280.0, seen={"executors_running": 2, "partitions": 24}, **given)


def test_the_fewest_cores_that_hold_the_goal_with_the_pause_counted() -> None:
    offer = cores.KNOB.raise_(at())
    assert offer is not None
    assert (offer.how, offer.reason) == (How.DRIVER, Reason.CORES_RAISED)
    assert (offer.settings.cores, offer.settings.executors) == (2, 2)
    assert offer.predicted <= 0.8
    hurried = cores.KNOB.raise_(at(asked={"catch_up_s": 90.0}))
    assert hurried is not None
    assert hurried.predicted > offer.predicted, "the same pause is more to catch up with"


def test_while_there_may_be_more_executors_or_no_leave_the_cores_stay() -> None:
    assert cores.KNOB.raise_(at(asked={"max_executors": 3})) is None
    assert cores.KNOB.raise_(at(None)) is None
    assert cores.KNOB.raise_(at(1)) is None
    assert cores.KNOB.raise_(replace(at(), late=Late(20.0, 100, 1.0, 2.0))) is None


@pytest.mark.parametrize(("most_slots", "expected"), [(4, (2, 2)), (3, (3, 1)), (2, None)])
def test_the_slots_of_the_limits_are_never_exceeded(
    most_slots: int, expected: tuple[int, int] | None
) -> None:
    offer = cores.KNOB.raise_(at(asked={"most_slots": most_slots}))
    seen = (offer.settings.cores, offer.settings.executors) if offer else None
    assert seen == expected


@pytest.mark.parametrize(
    ("limits", "slots"),
    [({}, None), ({"cores": 12}, 12), ({"memory": "3600Mi"}, 8),
     ({"cores": 6, "memory": "3600Mi"}, 6)],
)  # fmt: skip
def test_limits_count_slots_however_they_are_spread(limits: Any, slots: int | None) -> None:
    executor = ExecutorResources(cores=2, memory="900Mi")
    known = Limits.model_validate(limits)
    assert known.most_slots(executor) == slots
    assert known.most_executors(executor) == min(8, (slots or 99) // 2)


def test_a_policy_at_other_cores_allows_fewer_executors() -> None:
    base = policy(cores=2, most_slots=12, max_executors=6, min_executors=4)
    assert base.executors_of(4) == (3, 3)
    assert base.executors_of(2) == (4, 6)
    assert [base.capacity(replace(TWO, cores=c)).slots for c in (None, 4)] == [4, 8]


def within(asked: Policy, given: int | None) -> int | None:
    return knobs.clamp(asked, replace(TWO, cores=given)).cores


def test_the_limit_bounds_what_was_chosen_and_the_spec_is_the_least() -> None:
    asked = policy(max_cores=4, cores=2)
    assert [within(asked, c) for c in (None, 1, 2, 3, 9)] == [None, None, None, 3, 4]
    assert within(policy(cores=2), 3) is None
    assert guards.limits(at(2), _offered()) is None
    assert guards.limits(at(None), _offered()) is not None


def _offered() -> Any:
    offer = cores.KNOB.raise_(at())
    assert offer is not None
    return offer


WIDE = replace(TWO, cores=3)


def snapshot(memory: ControllerState, seconds: float) -> Snapshot:
    last = batch(records=2500, duration_s=seconds, settings_generation=2, executors_min=2)
    seen = overloaded(batch=last, settings_generation=2, executors_running=2, partitions=24)
    asked = policy(max_executors=2, max_cores=3, most_slots=6)
    return Snapshot(1000.0, asked, memory.settings, replace(seen, lag_records=2800.0))


def test_batches_are_learned_by_slots_and_the_model_predicts_by_slots() -> None:
    memory = ControllerState(2, WIDE, points=POINTS, evidence=DwellCounter())
    _, after = decide(snapshot(memory, 4.2), memory)
    assert [p.slots for p in after.points] == [2, 2, 6]
    model = learning.fitted(snapshot(after, 4.2), after.points)
    assert model is not None
    assert model.learned(6)


def test_a_trial_of_cores_that_gained_nothing_is_put_back() -> None:
    opened, memory = decide_raise()
    assert opened.reason is Reason.CORES_RAISED
    assert memory.trial is not None
    assert memory.trial.before.cores is None
    memory = replace(memory, trial=replace(memory.trial, settled=3, judged=0))
    for number in (8, 9, 10):
        now = snapshot(memory, 10.4)
        assert now.signals is not None
        assert now.signals.batch is not None
        seen = replace(now.signals, batch=replace(now.signals.batch, id=number))
        decision, memory = decide(replace(now, settings=memory.settings, signals=seen), memory)
        if decision.action is Action.REVERT:
            break
    assert decision.reason is Reason.TRIAL_NO_GAIN, decision.message
    assert memory.settings == TWO
    assert ControllerState.from_dict(memory.to_dict()) == memory


@pytest.mark.parametrize(("most", "told"), [(None, True), (8, False)])
def test_what_a_person_may_allow_is_said(most: int | None, told: bool) -> None:
    assert bool(cores.to_allow(at(most), Kind.CPU)) == told
    assert cores.to_allow(at(None, asked={"max_executors": 3}), Kind.CPU) == ""
    assert cores.to_allow(at(None), Kind.SKEW) == ""


def decide_raise() -> Any:
    memory = ControllerState(1, TWO, points=POINTS, evidence=DwellCounter(over=1))
    return decide(replace(snapshot(memory, 11.5), settings=TWO), memory)

"""Recommendations: one stands until it is wrong, and an approval applies that one and no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, policy

from trimtab.api.knobs import How
from trimtab.api.reasons import Action, Reason
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.tuning.acting import act
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.decision import NOTHING, Step
from trimtab.tuning.recommending import REPLAY_S, replayed, withdrawn

ASKED = policy(mode=Mode.RECOMMEND)
CORES = policy(approval=frozenset({"executor.cores"}), max_cores=4)


def seen(asked: Any = ASKED, *, approved: int | None = None, load: float = 280.0) -> Context:
    made = context(asked=asked, load=load)
    outside = replace(made.snapshot.constraints, approved=approved)
    return replace(made, snapshot=replace(made.snapshot, constraints=outside))


def later(
    first: Step, approved: int | None = None, after_s: float = 10.0, load: float = 280.0
) -> Context:
    """The next tick, with the memory of a step."""
    made = seen(approved=approved, load=load)
    snapshot = replace(made.snapshot, now_s=made.snapshot.now_s + after_s)
    return replace(made, snapshot=snapshot, memory=first[1])


def more(made: Context, executors: int) -> Proposal:
    settings = replace(START, executors=executors)
    return made.offer("parallelism", How.LIVE, settings, Reason.EXECUTORS_RAISED, raises=True)


def step(made: Context, executors: int = 4) -> Step:
    return act(made, [more(made, executors)], NOTHING)


def standing(memory: ControllerState) -> tuple[int, int]:
    assert memory.recommendation
    return memory.recommendation.generation, memory.recommendation.settings.executors


def test_a_recommendation_has_a_generation_and_says_how_to_approve_it() -> None:
    decision, memory = step(seen())
    assert decision.action is Action.RECOMMEND
    assert not decision.moves
    assert decision.message.endswith("approve it with the annotation trimtab.dev/approve=1")
    assert standing(memory) == (1, 4)
    assert memory.settings == START


def test_it_stands_while_it_reaches_the_goal_whatever_is_offered_meanwhile() -> None:
    first = step(seen())
    assert standing(step(later(first), 5)[1]) == (1, 4)
    assert standing(step(later(first), 4)[1]) == (1, 4)


def test_one_that_no_longer_reaches_the_goal_is_replaced() -> None:
    first = step(seen(), 2)
    assert standing(step(later(first, load=500.0), 5)[1]) == (2, 5)


def test_another_direction_or_knob_is_another_one() -> None:
    first = step(seen())
    made = later(first)
    offer = made.offer(
        "batch-size", How.QUERY, replace(START, trigger_s=5.0), Reason.TRIGGER_SHORTENED,
        raises=True,
    )  # fmt: skip
    decision, memory = act(made, [offer], NOTHING)
    assert memory.recommendation
    assert (memory.recommendation.generation, memory.recommendation.knob) == (2, "batch-size")
    assert "trigger" in decision.changes[0]


def test_an_approval_applies_what_was_read() -> None:
    """The law would offer five by now; the person has read four."""
    decision, memory = step(later(step(seen()), approved=1), 5)
    assert (decision.action, decision.settings.executors) == (Action.CHANGE, 4)
    assert "recommendation 1 was approved" in decision.message
    assert memory.settings.executors == 4
    assert memory.trial is not None
    assert memory.recommendation is None
    assert (memory.advice_record.given, memory.advice_record.approved) == (1, 1)


def test_an_approval_of_another_one_applies_nothing_and_says_so() -> None:
    decision, memory = step(later(step(seen()), approved=7))
    assert decision.action is Action.RECOMMEND
    assert "approve=1 (7 was another one)" in decision.message
    assert memory.settings == START


def test_an_approval_is_used_up() -> None:
    """The annotation stays on the object; the next recommendation has another generation."""
    _, applied = step(later(step(seen()), approved=1))
    rested = replace(applied, trial=None)
    made = later((None, rested), approved=1)  # type: ignore[arg-type]
    made = replace(made, snapshot=replace(made.snapshot, settings=rested.settings))
    decision, memory = act(made, [more(made, 5)], NOTHING)
    assert decision.action is Action.RECOMMEND
    assert standing(memory) == (2, 5)


def test_in_mode_auto_only_chosen_knobs_wait() -> None:
    made = seen(CORES)
    wider = made.offer(
        "cores", How.DRIVER, replace(START, cores=2), Reason.CORES_RAISED, raises=True
    )
    decision, memory = act(made, [wider], NOTHING)
    assert (decision.action, memory.settings.cores) == (Action.RECOMMEND, None)
    decision, memory = act(made, [wider, more(made, 3)], NOTHING)
    assert (decision.action, memory.settings.executors) == (Action.CHANGE, 3)


def test_what_needs_nothing_any_more_is_withdrawn() -> None:
    _, memory = step(seen())
    assert withdrawn(memory).recommendation is None
    assert withdrawn(memory).advice_record.given == 1


@pytest.mark.parametrize(("after_s", "asked"), [(REPLAY_S - 1, 0), (REPLAY_S, 1)])
def test_a_standing_one_is_asked_now_and_then_whether_it_would_hold(
    after_s: float, asked: int
) -> None:
    first = step(seen(load=100.0))
    record = replayed(later(first, after_s=after_s, load=100.0)).advice_record
    assert (record.asked, record.held_advised, record.held_as_run) == (asked, asked, 0)


def test_the_memory_goes_through_its_stored_form() -> None:
    _, memory = step(seen())
    assert ControllerState.from_dict(memory.to_dict()) == memory

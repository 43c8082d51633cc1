"""The driver's reflex: what a table holds, when it is acted on, and how the law adopts a raise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.test_decision import START, memory, policy, signals

from trimtab.api.contract import Carries, Reflex
from trimtab.api.reasons import Action, Reason
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.tuning import reflex
from trimtab.tuning.capacity import learning
from trimtab.tuning.capacity.load import measure, predict
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.controller_state import ControllerState, Idle, Trial, Verdict
from trimtab.tuning.law import decide
from trimtab.tuning.policy import Policy
from trimtab.tuning.reflex import LIFE_S, Reading, Watch, raised, stands
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import ExternalConstraints, Signals, Snapshot

POINTS = (Point(1, 250, 0.1, 1.1), Point(1, 1000, 0.1, 4.1), Point(2, 2000, 0.1, 4.3))
SHORT = replace(START, trigger_s=5.0, max_offsets=100_000)
ASKED = policy(reflex=True, max_executors=8)


def known(**changes: Any) -> ControllerState:
    return memory(**({"settings": SHORT, "points": POINTS} | changes))


def view(asked: Policy = ASKED, seen: Signals | None = None, **outside: Any) -> Snapshot:
    told = seen or signals(partitions=64)
    return Snapshot(1000.0, asked, SHORT, told, "", ExternalConstraints(**outside))


def written(asked: Policy = ASKED, **changes: Any) -> Reflex:
    found = reflex.table(view(asked), known(**changes), "uid")
    assert found is not None
    return found


TABLE = Reflex(
    generation=1, pipeline_uid="uid", expires_s=4600, catch_up_s=60, in_flight_s=10,
    steps=(Carries(executors=1, rate=100), Carries(executors=2, rate=190),
           Carries(executors=4, rate=360)),
)  # fmt: skip


def test_each_row_is_the_highest_input_that_the_higher_bound_allows() -> None:
    for trigger_s in (2.0, 5.0, 10.0):
        settings = replace(SHORT, trigger_s=trigger_s)
        asked = replace(ASKED, target_s=16.0)
        found = written(asked, settings=settings)
        for row in found.steps:
            there = replace(settings, executors=row.executors)
            loads = []
            for rate in (0.99 * row.rate, 1.02 * row.rate):
                seen = signals(input_rate=rate, input_rate_long=rate, lag_records=0.0,
                               partitions=64)  # fmt: skip
                now = replace(view(asked, seen), settings=there)
                model = learning.fitted(now, POINTS)
                load = measure(now, model)
                assert model is not None
                assert load is not None
                loads.append(predict(model, asked, there, load))
            assert loads[0] < asked.higher < loads[1], (trigger_s, row)


def test_rows_begin_with_what_is_in_force_and_reach_twice_what_was_learned() -> None:
    assert [row.executors for row in written().steps] == [1, 2, 3, 4]
    more = known(settings=replace(SHORT, executors=3), generation=9)
    found = reflex.table(view(), more, "uid")
    assert found is not None
    assert [row.executors for row in found.steps] == [3, 4, 5, 6]
    assert (found.generation, found.pipeline_uid) == (9, "uid")
    assert found.expires_s == 1000 + LIFE_S
    assert [r.executors for r in written(replace(ASKED, max_executors=3)).steps] == [1, 2, 3]


def test_executors_that_add_nothing_are_no_row() -> None:
    found = reflex.table(view(seen=signals(partitions=2)), known(), "uid")
    assert found is not None
    assert [row.executors for row in found.steps] == [1, 2]


@pytest.mark.parametrize(
    ("asked", "changes", "outside"),
    [
        ({"reflex": False}, {}, {}),
        ({"mode": Mode.RECOMMEND}, {}, {}),
        ({"mode": Mode.OBSERVE}, {}, {}),
        ({"pinned": {"executors": 1.0}}, {}, {}),
        ({"locked": frozenset({"executors"})}, {}, {}),
        ({"max_executors": 1}, {}, {}),
        ({"target_s": None, "maximum": True}, {}, {}),
        ({}, {"points": ()}, {}),
        ({}, {"idle": Idle(0.0, asleep=True)}, {}),
        ({}, {"verdicts": (Verdict("parallelism", True, 2, 25.0, until_s=1001.0),)}, {}),
        ({}, {}, {"executors_missing": "no node fits"}),
    ],
)
def test_there_is_no_table_where_more_executors_are_not_for_the_driver_to_ask(
    asked: dict[str, Any], changes: dict[str, Any], outside: dict[str, Any]
) -> None:
    found = reflex.table(view(replace(ASKED, **asked), **outside), known(**changes), "uid")
    assert found is None


def test_a_verdict_that_is_over_and_one_on_another_knob_do_not_count() -> None:
    over = Verdict("parallelism", True, 2, 25.0, until_s=999.0)
    assert written(verdicts=(over, Verdict("batch-size", True, 2, 25.0)))


def test_a_rate_goal_asks_for_no_more_than_it_needs() -> None:
    asked = replace(ASKED, target_s=None, rate=300.0)
    found = written(asked)
    assert found.steps[-2].rate < 300 <= found.steps[-1].rate


@pytest.mark.parametrize(
    ("executors", "rate", "lag", "wanted"),
    [
        (1, 100.0, 0.0, None),
        (1, 109.0, 0.0, None),
        (1, 111.0, 0.0, 2),
        (1, 200.0, 0.0, 4),
        (1, 900.0, 0.0, 4),
        (2, 200.0, 0.0, None),
        (3, 200.0, 0.0, None),
        (4, 900.0, 0.0, None),
        (0, 900.0, 0.0, None),
        (1, 90.0, 900.0, None),
        (1, 90.0, 900.0 + 60 * 30, 2),
    ],
)
def test_the_driver_asks_for_the_fewest_that_carry_the_demand(
    executors: int, rate: float, lag: float, wanted: int | None
) -> None:
    assert raised(TABLE, executors, Reading(rate, lag)) == wanted


def polls(*rates: float, table: Reflex | None = TABLE, executors: int = 1) -> list[int | None]:
    """What a watch says to polls every second, each with the records of that second."""
    watch, total, found = Watch(), 0.0, []
    for at_s, rate in enumerate(rates):
        total += rate
        found.append(watch.look(table, executors, float(at_s), total, 0.0))
    return found


def test_two_rates_in_a_row_must_ask_for_more_and_the_lower_one_says_for_how_many() -> None:
    assert polls(*[90] * 5, *[300] * 4) == [None] * 7 + [4, 4]
    assert polls(*[90] * 5, *[300] * 3, *[120] * 9)[7:12] == [4, 4, 2, 2, 2]
    assert polls(*[90] * 6, 250, *[90] * 6) == [None] * 13, "a lump of one second"
    assert polls(*([0] * 4 + [450]) * 5) == [None] * 25, "a producer that commits every 5 s"
    assert polls(*[300] * 5) == [None] * 4 + [4], "two rates need four seconds"


def test_nothing_is_asked_without_a_table_or_beyond_its_life() -> None:
    assert set(polls(*[900] * 9, table=None)) == {None}
    ended = TABLE.model_copy(update={"expires_s": 5.0})
    assert polls(*[900] * 9, table=ended)[4:] == [4, None, None, None, None]


def test_a_topic_that_began_anew_is_watched_anew() -> None:
    watch = Watch()
    for at_s in range(6):
        watch.look(TABLE, 1, float(at_s), 900.0 * at_s, 0.0)
    assert watch.look(TABLE, 1, 6.0, 10.0, 0.0) is None
    assert watch.look(TABLE, 1, 7.0, 20.0, 0.0) is None


def test_a_table_stands_until_it_says_something_else_or_is_half_over() -> None:
    def moved(**changes: Any) -> Reflex:
        return TABLE.model_copy(update=changes)

    steps = list(TABLE.steps)
    near = moved(steps=(steps[0], steps[1].model_copy(update={"rate": 200}), steps[2]))
    far = moved(steps=(steps[0], steps[1].model_copy(update={"rate": 230}), steps[2]))
    now_s = TABLE.expires_s - LIFE_S
    assert stands(TABLE, near, now_s)
    assert stands(TABLE, moved(expires_s=9999), now_s + LIFE_S / 2)
    assert not stands(TABLE, TABLE, now_s + LIFE_S / 2 + 1)
    assert not stands(TABLE, TABLE, now_s - 9), "it would live for too long"
    for new in (far, moved(generation=2), moved(steps=TABLE.steps[:2]), moved(catch_up_s=30.0),
                moved(in_flight_s=20.0), None):  # fmt: skip
        assert not stands(TABLE, new, now_s)
    assert stands(None, None, now_s)
    assert not stands(None, TABLE, now_s)


def adopted(before: ControllerState, **seen: Any) -> tuple[Any, ControllerState]:
    told = signals(partitions=64, **seen)
    return decide(replace(view(seen=told), settings=before.settings), before)


def test_a_raise_of_the_driver_becomes_the_laws_own_and_goes_on_trial() -> None:
    decision, after = adopted(known(), raised_to=3)
    assert (decision.action, decision.reason) == (Action.CHANGE, Reason.RAISED_BY_DRIVER)
    assert "the driver has raised executors by itself" in decision.message
    assert "executors 1 -> 3" in decision.message
    assert (after.settings.executors, after.generation) == (3, 2)
    assert after.trial is not None
    assert (after.trial.before.executors, after.trial.raises) == (1, True)


def test_it_ends_an_open_trial_without_a_verdict() -> None:
    open_ = Trial("batch-size", 1, replace(SHORT, trigger_s=10.0), 990.0, True, 25.0, 1.0, 0.5)
    decision, after = adopted(known(trial=open_), raised_to=3)
    assert decision.reason is Reason.RAISED_BY_DRIVER
    assert after.trial is not None
    assert after.trial.knob == "parallelism"
    assert after.trial.before == SHORT
    assert after.verdicts == ()


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({}, {"raised_to": None}),
        ({}, {"raised_to": 1}),
        ({"settings": replace(SHORT, executors=8)}, {"raised_to": 20}),
        ({"generation": 2}, {"raised_to": 3}),
    ],
)
def test_what_is_no_raise_within_the_limits_is_not_adopted(
    changes: dict[str, Any], seen: dict[str, Any]
) -> None:
    decision, _ = adopted(known(**changes), **seen)
    assert decision.reason is not Reason.RAISED_BY_DRIVER


def test_more_than_the_limits_allow_is_adopted_up_to_them() -> None:
    _, after = adopted(known(), raised_to=20)
    assert after.settings == Settings(8, 5.0, 100_000)

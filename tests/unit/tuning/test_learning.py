"""What a batch teaches, what it does not, and when a first guess is acted on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import (
    START,
    batch,
    memory,
    overloaded,
    policy,
    signals,
    snapshot,
)

from trimtab.api.reasons import Reason
from trimtab.tuning import messages
from trimtab.tuning.capacity import learning
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.controller_state import ControllerState, FastestCall
from trimtab.tuning.dwell import DwellCounter
from trimtab.tuning.law import decide
from trimtab.tuning.settings import Settings

COLD_BATCH = batch(records=600, duration_s=20.0, since_start=1)
"""The first batch of a driver: 30 records/s."""


def decided(rate: float, lag: float, **remembered: object) -> Reason:
    held = memory(points=(), evidence=DwellCounter(over=1), **remembered)
    seen = overloaded(batch=COLD_BATCH, input_rate=rate, input_rate_long=rate, lag_records=lag)
    return decide(snapshot(seen, held), held)[0].reason


@pytest.mark.parametrize(
    ("rate", "lag", "reason"),
    [
        (280.0, 9000.0, Reason.EXECUTORS_RAISED),
        (280.0, 5000.0, Reason.CALIBRATING),
        (35.0, 800.0, Reason.CALIBRATING),
    ],
    ids=["drowning", "no lag to speak of", "it may just be cold"],
)
def test_the_first_batch_speaks_only_where_there_is_no_doubt(
    rate: float, lag: float, reason: Reason
) -> None:
    assert decided(rate, lag) is reason


def test_what_a_cold_batch_takes_beyond_its_calls_is_not_what_more_calls_cannot_save() -> None:
    """306 calls of 8 ms are 2.4 s of 9.5: compiling takes the rest, once. Calls cost nothing."""
    asked = policy(target_s=5.0, max_executors=4, catch_up_s=60.0, higher=0.85, lower=0.75)
    settings = Settings(executors=1, trigger_s=5.0, max_offsets=5000, max_in_flight=1)
    held = memory(points=(), settings=settings, evidence=DwellCounter(over=1))
    cold = batch(records=306, duration_s=9.5, since_start=1)
    seen = signals(batch=cold, input_rate=150.0, input_rate_long=150.0, lag_records=2000.0,
                   partitions=4, pending_calls=1.0, pending_call_s=0.008)  # fmt: skip
    decision, after = decide(snapshot(seen, held, asked), held)
    assert decision.reason is Reason.CALLS_RAISED
    assert after.settings == replace(settings, max_in_flight=6)
    assert "room for a trigger of 2s" in decision.message


def test_while_nothing_is_known_the_phases_are_told() -> None:
    cold = replace(COLD_BATCH, planning_s=1.5, state_s=0.5)
    decision, _ = decide(snapshot(signals(batch=cold), memory(points=())), memory(points=()))
    assert decision.reason is Reason.CALIBRATING
    assert decision.message.startswith("600 records in 20.0 s, planning 1.5 s, state 0.5 s of it")


def taught(held: ControllerState, *durations_s: float) -> ControllerState:
    for number, duration_s in enumerate(durations_s):
        one = batch(id=100 + number, records=1000, duration_s=duration_s, overhead_s=0.1)
        held = learning.observe(snapshot(signals(batch=one), held), held, one)
    return held


@pytest.mark.parametrize("kind", ["replayed", "timed"])
def test_a_batch_whose_duration_says_nothing_teaches_nothing(kind: str) -> None:
    held = memory(points=())
    for teaches in (True, False):
        one = replace(batch(id=100, records=1000, duration_s=8.0), **{kind: not teaches})
        points = learning.observe(snapshot(signals(batch=one), held), held, one).points
        assert bool(points) is teaches


def test_one_long_batch_is_not_believed_and_two_are() -> None:
    known = memory(points=(Point(1, 1000, 0.1, 8.0, batches=5),))
    once = taught(known, 20.0)
    assert (once.points, once.surprise) == (known.points, 2.5)
    assert taught(known, 20.0, 8.1).surprise == 0
    twice = taught(known, 20.0, 20.0)
    assert twice.points[0].duration_s == pytest.approx(20.0, rel=0.01)


def test_a_batch_is_counted_once_however_often_it_is_seen() -> None:
    one = batch(id=100, records=1000, duration_s=8.0)
    now = snapshot(signals(batch=one), memory(points=()))
    first = learning.observe(now, memory(points=()), one)
    assert learning.observe(now, first, one) == first


def test_the_fastest_call_is_kept_with_how_many_there_were() -> None:
    one = batch(since_start=1)
    held = memory()
    for call_s, calls in ((0.05, 4.0), (0.02, 2.0), (0.03, 8.0)):
        seen = signals(batch=one, pending_call_s=call_s, pending_calls=calls)
        held = learning.observe(snapshot(seen, held), held, one)
    assert held.fastest == FastestCall(0.02, 2.0, 1000.0)
    assert held.settings == START


@pytest.mark.parametrize(("call_s", "calls"), [(0.021, 8.0), (0.021, 2.5), (0.03, 8.0)])
def test_as_many_calls_as_were_answered_as_fast_are_no_crowd(call_s: float, calls: float) -> None:
    held = memory(fastest=FastestCall(0.02, 2.0, 900.0))
    one = batch(since_start=1)
    seen = signals(batch=one, pending_call_s=call_s, pending_calls=calls)
    after = learning.observe(snapshot(seen, held), held, one)
    many = FastestCall(0.02, 8.0, 1000.0)
    assert after.fastest == (many if (call_s, calls) == (0.021, 8.0) else held.fastest)


@pytest.mark.parametrize(("records", "said"), [(250, False), (2500, True)])
def test_physics_is_not_called_in_on_the_word_of_small_batches(records: int, said: bool) -> None:
    """280/s at a trigger of 10 s are batches of 2,800: from 250 that would be a guess."""
    points = (Point(1, records, 0.1, records / 40),)
    now = context(load=280.0, points=points, seen={"batch": batch(id=1)}, taught="1/1")
    assert bool(messages.infeasible(now)) is said

"""The batch-size knob where a pause has its price, and where the latency holds executors back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, memory, overloaded, policy, snapshot

from trimtab.api.knobs import How
from trimtab.api.reasons import Reason
from trimtab.tuning.capacity.points import REPEATED, Point
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.knobs import batch_size, parallelism
from trimtab.tuning.law import decide

LIGHT = (Point(1, 100, 0.1, 0.9), Point(1, 1000, 0.1, 8.1))
"""8 ms a record and 0.1 s outside the work."""


def test_a_pause_leaves_a_debt_that_counts() -> None:
    """280 records/s wait for 1.5 s: that is 4.7 records/s more over a catch-up of 90 s."""
    now = context(load=280.0, asked=policy(target_s=None, rate=10_000.0))
    live, query = now.predicted(now.settings), now.predicted(now.settings, How.QUERY)
    assert query == pytest.approx(live * (280 + 280 * 1.5 / 90) / 280)


def test_the_debt_is_that_of_the_pauses_measured_here() -> None:
    now = context(load=280.0, seen={"pause_s": {How.QUERY: 9.0, How.LIVE: 3.0}})
    assert now.pause_s(How.QUERY) == 9.0
    assert now.pause_s(How.LIVE) == 0.0, "what waits for executors is not a pause of the query"
    assert now.pause_s(How.DRIVER) == 40.0


def test_what_an_earlier_driver_measured_counts_until_this_one_has_measured_it() -> None:
    earlier = {"query": 9.0}
    assert context(pause_s=earlier).pause_s(How.QUERY) == 9.0
    assert context(pause_s=earlier, seen={"pause_s": {How.QUERY: 4.0}}).pause_s(How.QUERY) == 4.0


def test_measured_pauses_are_remembered() -> None:
    before = memory()
    seen = replace(overloaded(), pause_s={How.QUERY: 2.345})
    _, after = decide(snapshot(seen, before), before)
    assert after.pause_s == {"query": 2.3}
    _, later = decide(snapshot(overloaded(), after), after)
    assert ControllerState.from_dict(later.to_dict()).pause_s == {"query": 2.3}


@pytest.mark.parametrize(("pause_s", "moves"), [(1.5, True), (30.0, False)])
def test_a_longer_trigger_is_not_worth_a_broken_goal(pause_s: float, moves: bool) -> None:
    now = context(load=5.0, points=LIGHT, settings=replace(START, trigger_s=2.0),
                  asked=policy(target_s=30.0), seen={"pause_s": {How.QUERY: pause_s}})  # fmt: skip
    offer = batch_size.KNOB.release(now)
    assert (offer is not None) is moves
    assert offer is None or offer.reason is Reason.TRIGGER_LENGTHENED


def held_back(**asked: Any) -> Any:
    """25 records/s on two executors: one would do, but not at a trigger of 10 s."""
    points = (Point(1, 250, 0.1, 4.9), Point(1, 2500, 0.1, 22.9), Point(2, 250, 0.1, 2.5))
    rest = replace(START, executors=2)
    return context(load=25.0, points=points, settings=rest, asked=policy(**asked))


def test_the_trigger_is_shortened_where_only_the_latency_keeps_executors() -> None:
    now = held_back()
    assert parallelism.KNOB.release(now) is None
    offer = batch_size.KNOB.release(now)
    assert offer is not None
    assert (offer.reason, offer.raises) == (Reason.TRIGGER_SHORTENED, False)
    then = replace(now, snapshot=replace(now.snapshot, settings=offer.settings))
    fewer = parallelism.KNOB.release(then)
    assert fewer is not None
    assert fewer.settings.executors == 1


@pytest.mark.parametrize("asked", [{"pinned": {"executors": 2.0}}, {"min_executors": 2}])
def test_executors_that_must_stay_need_no_room(asked: dict[str, Any]) -> None:
    assert batch_size.KNOB.release(held_back(**asked)) is None


LATE_KNEE = {500: 1.0, 1000: 1.5, 2500: 12.0}


def test_no_batch_is_let_grow_past_the_knee() -> None:
    """1,000 records are the best batch; at 280/s a trigger of 5 s would hold 1,400."""
    points = tuple(Point(4, n, 0.1, s, batches=REPEATED) for n, s in LATE_KNEE.items())
    settings = replace(START, executors=4, trigger_s=10.0)
    offer = batch_size.KNOB.raise_(context(load=280.0, points=points, settings=settings))
    assert offer is not None
    assert offer.settings.trigger_s * 280 <= 1000
    assert offer.settings.max_offsets <= 1000


def roomy(profile: Any = True, **changes: Any) -> Any:
    """50 records/s for one slot that works 8 ms on each, beside 0.1 s a batch."""
    settings = replace(START, trigger_s=5.0)
    asked = policy(higher=0.7, lower=0.5, prompt=profile, **changes)
    return context(load=50.0, points=LIGHT, settings=settings, asked=asked)


def test_with_the_latency_profile_the_trigger_is_as_short_as_the_slots_allow() -> None:
    offer = batch_size.KNOB.release(roomy())
    assert offer is not None
    assert (offer.reason, offer.raises) == (Reason.TRIGGER_SHORTENED, False)
    assert offer.settings == replace(START, trigger_s=0.2)


def test_a_trigger_far_below_the_batches_time_gains_nothing() -> None:
    """Batches of 0.9 s follow each other at once, whether each 0.2 s or each 0.7 s."""
    slow = (Point(1, 100, 0.7, 1.5), Point(1, 1000, 0.7, 8.7))
    settings, asked = replace(START, trigger_s=5.0), policy(higher=0.7, lower=0.5, prompt=True)
    now = context(load=20.0, points=slow, settings=settings, asked=asked)
    offer = batch_size.KNOB.release(now)
    assert offer is not None
    assert offer.settings.trigger_s == 0.7
    assert now.predicted(offer.settings) < now.light, "room, although no batch fits its trigger"


def test_without_it_the_trigger_is_as_long_as_the_goal_allows() -> None:
    now = roomy(profile=False, target_s=40.0)
    offer = batch_size.KNOB.release(now)
    assert offer is not None
    assert offer.reason is Reason.TRIGGER_LENGTHENED


def test_a_short_trigger_must_carry_the_recent_peak() -> None:
    now = roomy()
    seen = now.memory.recurrence.observe(990.0, 100.0).observe(1000.0, 50.0)
    waves = replace(now, memory=replace(now.memory, recurrence=seen))
    offer = batch_size.KNOB.release(waves)
    assert offer is None or waves.carries_peak(offer.settings)
    assert offer != batch_size.KNOB.release(now)


def test_a_pause_that_would_break_the_goal_is_not_worth_a_shorter_trigger() -> None:
    now = roomy()
    slow = replace(now, memory=replace(now.memory, pause_s={"query": 30.0}))
    assert batch_size.KNOB.release(slow) is None


def test_a_trigger_that_is_too_long_becomes_one_without_a_wait() -> None:
    settings = replace(START, trigger_s=15.0)
    asked = policy(higher=0.7, lower=0.5, prompt=True)
    late = context(load=67.0, points=LIGHT, settings=settings, asked=asked)
    offer = batch_size.KNOB.raise_(late)
    assert offer is not None
    assert offer.settings.trigger_s == 0.2
    longest = batch_size.KNOB.raise_(
        replace(late, snapshot=replace(late.snapshot, policy=replace(asked, prompt=False)))
    )
    assert longest is not None
    assert longest.settings.trigger_s == 5.0


def test_the_trigger_stays_where_no_executor_would_be_released_at_a_shorter_one() -> None:
    """It was shortened, and lengthened again 14 s later: too few executors had been shown."""
    fast, slow = Point(1, 250, 0.1, 4.9, batches=0), Point(1, 2500, 0.1, 22.9, batches=0)
    settings = replace(START, executors=2)
    now = context(load=25.0, points=(fast, slow, Point(2, 250, 0.1, 4.0)), settings=settings)
    assert parallelism.KNOB.release(now) is None
    assert batch_size.KNOB.release(now) is None

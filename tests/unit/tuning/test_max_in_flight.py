"""Calls in flight: Little's law, what is waiting and what is work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, policy

from trimtab.api.knobs import How
from trimtab.api.reasons import Reason
from trimtab.tuning.capacity import learning
from trimtab.tuning.capacity.fit import fit
from trimtab.tuning.capacity.points import REPEATED, Point
from trimtab.tuning.context import Context
from trimtab.tuning.knobs import max_in_flight

CALLS = replace(START, trigger_s=5.0, max_in_flight=1)
WAITING = (Point(1, 250, 0.0, 2.0, 1), Point(1, 2500, 0.0, 20.0, 1))
"""8 ms a record on one slot with one call in flight."""


def at(load: float, **changes: Any) -> Context:
    said = {"asked": policy(target_s=None, rate=10_000.0), "settings": CALLS, "points": WAITING}
    return context(load=load, **(said | changes))


@pytest.mark.parametrize(("load", "calls"), [(110, 2), (190, 2), (210, 3), (390, 4), (780, 8)])
def test_as_few_calls_as_the_load_needs(load: float, calls: int) -> None:
    """m calls carry m/8 ms = 125·m records/s; at most 80 % of that is used."""
    offer = max_in_flight.KNOB.raise_(at(load))
    assert offer is not None
    assert (offer.settings.max_in_flight, offer.reason) == (calls, Reason.CALLS_RAISED)


def test_no_more_than_eight_times_as_many_at_once() -> None:
    offer = max_in_flight.KNOB.raise_(at(2000.0))
    assert offer is not None
    assert offer.settings.max_in_flight == 8


def test_without_such_a_stage_there_is_nothing_to_move() -> None:
    assert max_in_flight.KNOB.raise_(context(load=280.0)) is None


def test_two_numbers_of_calls_tell_waiting_from_work() -> None:
    """8 ms with one call, 3.5 ms with four: 2 ms of work and 6 ms of waiting."""
    points = (Point(1, 1000, 0.0, 8.0, 1), Point(1, 1000, 0.0, 3.5, 4))
    model = fit(points, 12, 1)
    assert model is not None
    assert model.waiting == pytest.approx(0.75)
    assert model.with_in_flight(2).capacity(1) == pytest.approx(1 / 0.005)
    assert model.with_in_flight(4).capacity(1) == pytest.approx(1 / 0.0035)
    four = fit(points, 12, 4)
    assert four is not None
    assert four.with_in_flight(1).capacity(1) == pytest.approx(125)


def test_what_does_not_grow_is_not_taken_for_work_that_no_call_cuts() -> None:
    """0.7 s of each batch, and 8 ms a record shared by the calls: nothing else."""
    sizes = [(1238, 1), (1200, 10), (300, 10)]
    points = tuple(Point(1, n, 0.5, 0.7 + n * 0.008 / m, m, call_s=0.008) for n, m in sizes)
    model = fit(points, 4, 10)
    assert model is not None
    assert model.waiting == pytest.approx(1.0, abs=0.05)
    assert model.with_in_flight(2).duration_s(300, 1) == pytest.approx(0.7 + 300 * 0.004, rel=0.03)


def test_settings_carry_as_much_whichever_are_in_force() -> None:
    """What a verdict remembers is what is read again when its settings are back."""
    points = (
        Point(1, 1200, 0.5, 1.6, 10),
        Point(1, 300, 0.5, 0.94, 10),
        Point(1, 290, 0.5, 1.9, 2),
    )
    two = replace(at(150.0).snapshot, settings=replace(CALLS, max_in_flight=2))
    before = replace(two, settings=replace(CALLS, max_in_flight=10))
    there = learning.fitted(before, points)
    assert there is not None
    assert learning.carried(two, points, before.settings) == there.capacity(1)
    assert learning.carried(two, points, replace(CALLS, max_in_flight=5)) == 0, "never seen"


@pytest.mark.parametrize("records", [125, 400, 1400])
def test_the_time_of_a_call_tells_the_optimum_from_one_small_batch(records: int) -> None:
    """1 s of each batch does not grow, so that m calls carry m/8 ms in 4 s of 5: 4 for 280/s.

    Taken for a cost of each record, that second would ask for far more.
    """
    seen = (Point(1, records, 0.0, 1.0 + 0.008 * records, 1, call_s=0.008),)
    offer = max_in_flight.KNOB.raise_(at(280.0, points=seen))
    assert offer is not None
    assert offer.settings.max_in_flight == 4
    assert offer.predicted == pytest.approx(280 / (4 / 0.008 * 4 / 5), rel=0.02)


@pytest.mark.parametrize("smaller", [(60, 2.3), (30, 1.5)])
def test_small_batches_of_a_busy_machine_do_not_ask_for_all_calls(
    smaller: tuple[int, float],
) -> None:
    """Their slope is half noise where the time of a call is sure.

    Of the largest batch 2.5 s do not wait: m calls carry m/8 ms in the other half of the trigger.
    """
    sizes = [smaller, (125, 3.5)]
    seen = tuple(Point(1, n, 0.0, took_s, 1, call_s=0.008) for n, took_s in sizes)
    offer = max_in_flight.KNOB.raise_(at(240.0, points=seen))
    assert offer is not None
    assert offer.settings.max_in_flight == 5
    assert offer.predicted == pytest.approx(240 / (5 / 0.008 / 2), rel=0.02)


def test_batches_of_the_size_that_comes_in_tell_what_waits() -> None:
    """2 ms of work a record beside the 8 ms: the calls make up for it, as the slope is sure."""
    sizes = (250, 1000)
    seen = tuple(Point(1, n, 0.0, 0.5 + 0.01 * n, 1, REPEATED, call_s=0.008) for n in sizes)
    offer = max_in_flight.KNOB.raise_(at(200.0, points=seen))
    assert offer is not None
    exact = 5  # 1000 records in 0.8 × (5 − 0.5) s: 3.6 = 2 + 8/m ms
    assert offer.settings.max_in_flight == exact + 1, "the slope has a margin"


@pytest.mark.parametrize(("batches", "reaches"), [(1, True), (REPEATED, False)])
def test_a_slow_batch_does_not_show_that_calls_are_too_few(batches: int, reaches: bool) -> None:
    """1,209 records in 2.9 s where eight calls of 8 ms need 1.2 s: the driver may still be cold."""
    points = (
        Point(1, 1376, 0.4, 14.0, 1, call_s=0.008),
        Point(1, 300, 0.4, 0.9, 8, 6, call_s=0.008),
        Point(1, 1209, 0.4, 2.9, 8, batches, call_s=0.008),
    )
    settings = replace(CALLS, trigger_s=2.0, max_offsets=5000, max_in_flight=8)
    now = at(
        600.0, settings=settings, points=points, asked=policy(), seen={"pending_call_s": 0.008}
    )
    offer = max_in_flight.KNOB.raise_(now)
    assert offer is not None
    assert (offer.predicted <= now.band.higher) is reaches


def test_what_does_not_wait_is_taken_to_grow_by_all_other_knobs() -> None:
    model = fit((Point(1, 1000, 0.0, 9.0, 1, call_s=0.008),), 12, 1)
    assert model is not None
    assert model.duration_s(2000, 1) == pytest.approx(18)
    assert model.call_cost is not None
    assert model.by_call_time.duration_s(2000, 1) == pytest.approx(17)
    assert model.by_call_time.with_in_flight(4).duration_s(2000, 1) == pytest.approx(5)
    assert fit((*WAITING, Point(1, 900, 0.0, 9.0, 2)), 12, 1).call_cost is None  # type: ignore[union-attr]


def test_where_calls_cut_nothing_more_of_them_are_not_offered() -> None:
    limited = (Point(1, 1000, 0.0, 8.0, 1), Point(1, 1000, 0.0, 8.0, 2))
    assert max_in_flight.KNOB.raise_(at(280.0, points=limited)) is None


@pytest.mark.parametrize(
    ("limit", "becomes"),
    [(5000, 5000), (1000, 4900), (500, 4000)],
    ids=["large enough", "as the input needs", "as the calls"],
)  # fmt: skip
def test_a_limit_that_would_throttle_more_calls_grows_with_them(limit: int, becomes: int) -> None:
    """780/s at 80 % are 4,875 records in 5 s; with eight times the calls, eight times 500."""
    settings = replace(CALLS, max_offsets=limit)
    offer = max_in_flight.KNOB.raise_(at(780.0, settings=settings))
    assert offer is not None
    assert offer.settings.max_offsets == becomes
    assert (offer.how is How.QUERY) is (becomes != limit)


def test_a_pinned_limit_stays_whatever_it_throttles() -> None:
    asked = policy(target_s=None, rate=10_000.0, pinned={"maxOffsetsPerTrigger": 500.0})
    settings = replace(CALLS, max_offsets=500)
    assert max_in_flight.KNOB.raise_(at(780.0, settings=settings, asked=asked)) is None


@pytest.mark.parametrize(("now", "most"), [(1, 8), (8, 64), (50, 80), (80, 160)])
def test_hardly_more_calls_are_asked_for_than_a_worker_can_start(now: int, most: int) -> None:
    """80 calls of 8 ms, at 0.1 ms of work each; beyond that twice as many, to see."""
    points = tuple(replace(p, in_flight=now, duration_s=p.duration_s / now) for p in WAITING)
    settings = replace(CALLS, max_in_flight=now)
    seen = {"pending_call_s": 0.008, "pending_calls": float(now)}
    offer = max_in_flight.KNOB.raise_(at(90_000.0, points=points, settings=settings, seen=seen))
    assert offer is not None
    assert offer.settings.max_in_flight == most


@pytest.mark.parametrize(("load", "calls"), [(880.0, 12), (1300.0, 13)])
def test_a_step_is_large_enough_for_a_trial_to_tell(load: float, calls: int) -> None:
    """Nine calls carry 1,125 records/s, and 80 % of that would do for the 880."""
    points = tuple(replace(p, in_flight=8, duration_s=p.duration_s / 8) for p in WAITING)
    settings = replace(CALLS, max_in_flight=8, max_offsets=50_000)
    offer = max_in_flight.KNOB.raise_(at(load, points=points, settings=settings))
    assert offer is not None
    assert offer.settings.max_in_flight == calls


def test_no_estimate_says_that_more_slots_would_not_help() -> None:
    """Two slots were slow at 8 calls, and from 32 to 64 nothing changed: so they would be at 64."""
    seen = tuple(Point(1, 2000, 0.0, 1.0, calls, batches=5) for calls in (32, 64))
    slow = Point(2, 2000, 0.0, 2.0, 8, batches=5)
    model = fit((*seen, slow), 12, 64)
    assert model is not None
    assert not model.learned(2)
    also_seen = fit((*seen, replace(slow, in_flight=64)), 12, 64)
    assert also_seen is not None
    assert also_seen.learned(2)


def test_no_step_that_no_trial_could_tell() -> None:
    """No more than 80 calls of 8 ms are asked for, and 64 are in flight already."""
    points = (Point(1, 2500, 0.0, 2.5, 64, batches=5, call_s=0.008),)
    settings = replace(CALLS, max_in_flight=64)
    seen = {"pending_call_s": 0.008}
    assert (
        max_in_flight.KNOB.raise_(at(2000.0, points=points, settings=settings, seen=seen)) is None
    )


def test_after_a_cold_batch_the_limit_grows_as_much_as_the_calls() -> None:
    """What compiled in it is no reason to believe that fewer records fill the trigger."""
    settings = replace(CALLS, max_offsets=500)
    cold = (Point(1, 500, 0.0, 11.0, 1),)
    known = at(2000.0, settings=settings, points=cold)
    for memory, limit in ((known.memory, 1900), (replace(known.memory, points=()), 4000)):
        offer = max_in_flight.KNOB.raise_(replace(known, memory=memory))
        assert offer is not None
        assert (offer.settings.max_in_flight, offer.settings.max_offsets) == (8, limit)

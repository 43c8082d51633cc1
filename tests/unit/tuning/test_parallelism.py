"""Executors where tasks run in waves: 13 partitions take two on 7 to 12 slots, and one on 13."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, policy

from trimtab.api.ranges import Range
from trimtab.api.reasons import Reason
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.context import Context
from trimtab.tuning.knobs import parallelism


def at(executors: int, load: float, *, carried: float, waves: bool = True) -> Context:
    """So many executors, and the records/s that they were seen to carry."""
    points = (Point(executors, 2000, 0.0, 2000 / carried, batches=5),)
    seen = {"partitions": 13, "executors_running": executors, "waves": waves}
    settings = replace(START, executors=executors, trigger_s=5.0, max_offsets=20_000)
    asked = policy(max_executors=13)
    return context(load=load, settings=settings, points=points, seen=seen, asked=asked)


@pytest.mark.parametrize(("executors", "left"), [(12, 7), (9, 7), (7, None), (6, 5)])
def test_executors_that_idle_in_the_last_wave_leave(executors: int, left: int | None) -> None:
    offer = parallelism.KNOB.release(at(executors, load=600.0, carried=1000.0))
    assert (offer.settings.executors if offer else None) == left


@pytest.mark.parametrize(("waves", "left"), [(True, None), (False, 8)])
def test_none_leaves_whose_wave_the_others_could_not_take(waves: bool, left: int | None) -> None:
    """At 13 the load is 0.44; 12 executors would take twice as long."""
    offer = parallelism.KNOB.release(at(13, load=440.0, carried=1000.0, waves=waves))
    assert (offer.settings.executors if offer else None) == left


@pytest.mark.parametrize(
    ("batches", "records", "left"), [(3, 2000, 3), (0, 2000, 9), (3, 400, 9)],
    ids=["shown", "only brought to a pace", "small batches"],
)  # fmt: skip
def test_a_release_goes_as_far_as_batches_have_shown_or_else_as_is_usual(
    batches: int, records: int, left: int
) -> None:
    """Four executors are said to carry 800 records/s, of which 1000 need 13. If no batch has shown
    it, the usual exponent of 0.9 lets four carry 346, and nine 718; if one has, it lets three carry
    617, of which the model says 600."""
    points = (
        Point(4, records, 0.0, records / 800, batches=batches),
        Point(13, 2000, 0.0, 2000 / 1000, batches=5),
    )
    seen = {"partitions": 26, "executors_running": 13}
    settings = replace(START, executors=13, trigger_s=5.0, max_offsets=20_000)
    asked = policy(max_executors=13)
    found = context(load=400.0, settings=settings, points=points, seen=seen, asked=asked)
    offer = parallelism.KNOB.release(found)
    assert offer is not None
    assert offer.settings.executors == left


CALLING = replace(START, executors=4, trigger_s=5.0, max_offsets=20_000, max_in_flight=8)


def calling(**changes: Any) -> Context:
    """Four executors with 8 calls of 40 ms each: 800 records/s, of which 500 come in."""
    points = (Point(4, 2000, 0.0, 2.5, 8, batches=5, call_s=0.04),)
    seen = {"partitions": 12, "executors_running": 4, "pending_call_s": 0.04}
    said = {"settings": CALLING, "points": points, "seen": seen, "asked": policy(max_executors=4)}
    return context(load=500.0, **(said | changes))


def test_calls_take_the_place_of_executors() -> None:
    """With 64 calls one slot carries 1,600 records/s: twice the calls of all four together."""
    offer = parallelism.KNOB.release(calling())
    assert offer is not None
    assert (offer.settings.executors, offer.settings.max_in_flight) == (1, 64)
    assert offer.reason is Reason.EXECUTORS_RELEASED


@pytest.mark.parametrize(
    ("bounds", "left"),
    [(Range(most=40.0), (2, 32)), (Range(step=24.0), (2, 32)), (Range(most=8.0), None)],
    ids=["most", "step", "none more"],
)  # fmt: skip
def test_policies_bound_the_calls_that_take_their_place(
    bounds: Range, left: tuple[int, int] | None
) -> None:
    asked = policy(max_executors=4, ranges={"maxInFlight": bounds})
    offer = parallelism.KNOB.release(calling(asked=asked))
    found = offer and (offer.settings.executors, offer.settings.max_in_flight)
    assert found == left


def test_pinned_calls_take_nobodys_place() -> None:
    asked = policy(max_executors=4, pinned={"maxInFlight": 8.0})
    assert parallelism.KNOB.release(calling(asked=asked)) is None


def test_the_margin_is_not_worth_another_wave() -> None:
    """7 executors come within the bound of 0.8, if not by much, and the next that help are 13."""
    offer = parallelism.KNOB.raise_(at(5, load=660.0, carried=600.0))
    assert offer is not None
    assert offer.settings.executors == 7
    assert 0.7 < offer.predicted <= 0.8

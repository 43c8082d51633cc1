"""A goal of `max`: which knob is tried first. The gain counts, then what is put in for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, policy

from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.tuning import knobs
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.settings import Settings

MAXIMUM = policy(target_s=None, maximum=True)
CALL_S = 0.008
WORK = (Point(1, 250, 0.0, 2.0), Point(1, 2500, 0.0, 20.0))
"""8 ms of work a record."""


def first(settings: Settings, points: tuple[Point, ...], kind: Kind, **seen: Any) -> Proposal:
    """The raise to try first while records wait."""
    return knobs.raising(flood(settings, points, **seen), kind)[0]


def flood(settings: Settings, points: tuple[Point, ...], **seen: Any) -> Context:
    return context(
        asked=MAXIMUM, settings=settings, points=points, seen={"lag_records": 1e6} | seen
    )


def of_calls(calls: int, beside: float = 0.0) -> tuple[Point, ...]:
    """Batches of records that wait for as many calls at a time, and take some seconds beside."""
    each_s = CALL_S / calls + beside
    sizes = (round(0.5 / each_s), round(5 / each_s))
    return tuple(Point(1, n, 0.0, 0.2 + each_s * n, calls, call_s=CALL_S) for n in sizes)


def calling(calls: int, beside: float = 0.0) -> Proposal:
    limit = max(p.records for p in of_calls(calls, beside))
    settings = replace(START, trigger_s=5.0, max_offsets=limit, max_in_flight=calls)
    seen = {"pending_calls": float(calls), "pending_call_s": CALL_S}
    return first(settings, of_calls(calls, beside), Kind.CONCURRENCY, **seen)


def test_a_batch_limit_that_binds_is_raised_alone_if_that_gains_much() -> None:
    assert first(replace(START, max_offsets=300), WORK, Kind.ADMISSION_LIMIT).knob == "batch-size"


def test_else_it_is_raised_together_with_what_gains_more() -> None:
    offer = first(replace(START, max_offsets=1100), WORK, Kind.ADMISSION_LIMIT)
    assert offer.knob == "parallelism"
    assert offer.settings.max_offsets == 4 * 1100


def test_busy_slots_want_executors() -> None:
    assert first(START, WORK, Kind.CPU).knob == "parallelism"


@pytest.mark.parametrize("calls", [1, 8])
def test_calls_come_before_executors_where_they_yield_as_much(calls: int) -> None:
    offer = calling(calls)
    assert (offer.knob, offer.settings.max_in_flight) == ("max-in-flight", 8 * calls)


def test_executors_come_first_where_calls_promise_far_less_than_they_put_in() -> None:
    """Three eighths of a record's time are work, so 8 times the calls carry 2.2 times as much."""
    assert calling(8, beside=0.0006).knob == "parallelism"


def test_executors_come_first_where_hardly_more_calls_can_be_under_way() -> None:
    """A worker starts a call in 0.1 ms: no more than 80 of 8 ms."""
    assert calling(64).knob == "parallelism"

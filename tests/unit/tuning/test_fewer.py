"""Fewer executors are tried where the most miss the goal and nothing else was seen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, policy

from trimtab.api.reasons import Reason
from trimtab.tuning import guards, knobs, messages
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.context import Context
from trimtab.tuning.knobs.fewer import KNOB
from trimtab.tuning.settings import Settings

MOST = replace(START, executors=5)
SLOW = Point(5, 2500, 0.1, 22.9)


def at(
    settings: Settings = MOST, points: tuple[Point, ...] = (SLOW,), load: float = 280.0
) -> Context:
    return context(settings=settings, points=points, load=load, asked=policy(max_executors=5))


def test_half_of_the_most_are_tried_after_every_raise() -> None:
    now = at()
    offer = KNOB.raise_(now)
    assert offer is not None
    assert (offer.settings.executors, offer.reason) == (2, Reason.EXECUTORS_LOWERED)
    assert guards.first_allowed(now, [offer]) == (offer, None)


def test_not_if_the_goal_is_met_more_are_allowed_or_fewer_were_seen() -> None:
    fewer = Point(2, 2500, 0.1, 40.0)
    assert KNOB.raise_(at(load=20.0)) is None
    assert KNOB.raise_(at(replace(MOST, executors=4), (replace(SLOW, slots=4),))) is None
    assert KNOB.raise_(at(points=(SLOW, fewer))) is None


@pytest.mark.parametrize(
    ("load", "batches", "fastest_s", "tried"),
    [
        (140.0, 1, 0.0, True),
        (115.0, 1, 0.0, False),
        (115.0, 8, 0.0, True),
        (115.0, 8, 0.007, False),
    ],
)
def test_a_few_batches_that_are_slow_by_chance_are_no_overload(
    load: float, batches: int, fastest_s: float, *, tried: bool
) -> None:
    """They carry 109 records/s, and the fastest of them 143."""
    point = replace(SLOW, batches=batches, fastest_s=fastest_s)
    assert (KNOB.raise_(at(points=(point,), load=load)) is not None) is tried


def test_half_again_if_those_with_more_carried_less() -> None:
    """The best may be fewer still."""
    fewer = replace(MOST, executors=3)
    worse, better = Point(5, 2500, 0.1, 22.9), Point(3, 2500, 0.1, 12.0)
    offer = KNOB.raise_(at(fewer, (worse, better)))
    assert offer is not None
    assert offer.settings.executors == 1
    as_it_should = Point(5, 2500, 0.1, 9.0)
    assert KNOB.raise_(at(fewer, (as_it_should, better))) is None


def test_what_fewer_executors_carry_is_not_called_infeasible() -> None:
    fewer = replace(MOST, executors=2)
    carries, does_not = Point(2, 2500, 0.1, 6.0), Point(5, 2500, 0.1, 22.9)
    assert messages.infeasible(at(fewer, (carries, does_not))) == ""
    assert messages.infeasible(at(MOST, (does_not,)))


def test_it_has_its_place_after_every_other_knob() -> None:
    assert knobs.LADDER[-1] is KNOB

"""The number of executors that carries most is looked for, where more of them carry less."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, policy

from trimtab.api.reasons import Reason
from trimtab.tuning import guards, knobs, messages
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.context import Context
from trimtab.tuning.decision import NOTHING
from trimtab.tuning.knobs.peak import KNOB
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


def test_not_if_the_goal_is_met_more_are_allowed_or_fewer_carry_much_less() -> None:
    fewer = Point(2, 2500, 0.1, 50.0)
    assert KNOB.raise_(at(load=20.0)) is None
    assert KNOB.raise_(at(replace(MOST, executors=4), (replace(SLOW, slots=4),))) is None
    assert KNOB.raise_(at(points=(SLOW, fewer))) is None


@pytest.mark.parametrize(
    ("load", "batches", "fastest_s", "tried"),
    [
        (140.0, 1, 0.0, True),
        (115.0, 1, 0.0, False),
        (115.0, 5, 0.0, True),
        (115.0, 5, 0.007, False),
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


def test_fewer_that_were_seen_to_carry_as_much_are_enough() -> None:
    """A goal out of reach: five carry 109 records/s, three of them 106, and one 30."""
    sure = replace(SLOW, batches=5)
    seen = (sure, Point(3, 2500, 0.1, 23.7), Point(1, 2500, 0.1, 83.4))
    now = at(points=seen)
    offer = KNOB.raise_(now)
    assert offer is not None
    assert offer.settings.executors == 3
    assert "3 executors carried as much as any" in KNOB.cause(now, offer, NOTHING)
    less = replace(seen[1], duration_s=25.8)
    assert KNOB.raise_(at(points=(sure, less))) is None, "97 are too few"
    assert KNOB.raise_(at(points=(SLOW, seen[1]))) is None, "one batch may be slow by chance"


WIDER = policy(max_executors=26)


@pytest.mark.parametrize(
    ("now", "carried", "becomes"),
    [
        (16, {2: 960, 16: 1700}, 6),  # it hardly grows from 2 to 16
        (16, {2: 960, 16: 3000}, None),  # it grows
        (16, {2: 960, 16: 1700, 24: 1000}, 6),
        (6, {2: 960, 6: 1900, 24: 1000}, 12),  # it grows up to 6, and falls beyond
        (6, {2: 960, 6: 1900, 11: 1000}, None),  # too close together to hide much
        (2, {2: 960, 16: 900}, 6),  # more hides above than below
    ],
)
def test_the_middle_of_a_range_that_may_hide_a_peak_is_tried(
    now: int, carried: dict[int, int], becomes: int | None
) -> None:
    """The input exceeds what any of them carried."""
    points = tuple(Point(p, 10_000, 0.0, 10_000 / rate) for p, rate in carried.items())
    settings = replace(START, executors=now)
    offer = KNOB.raise_(context(settings=settings, points=points, load=4000.0, asked=WIDER))
    assert (offer and offer.settings.executors) == becomes
    if offer:
        up = offer.settings.executors > now
        assert offer.reason is (Reason.EXECUTORS_RAISED if up else Reason.EXECUTORS_LOWERED)


def test_what_fewer_carry_at_another_pace_is_not_believed_for_ever() -> None:
    """A late batch on new executors looks like a slower pace of all, also where more carry less."""
    assumed = Point(2, 3000, 0.0, 8.6, batches=0)
    here = Point(18, 30_000, 0.0, 20.0, batches=2)
    now = {"settings": replace(START, executors=18), "load": 3000.0, "asked": WIDER}
    worse = Point(25, 30_000, 0.0, 32.0)
    assert KNOB.raise_(context(points=(assumed, here, worse), **now)) is None
    sure = replace(here, batches=5)
    offer = KNOB.raise_(context(points=(assumed, sure, worse), **now))
    assert offer is not None
    assert offer.settings.executors == 9


def test_what_fewer_executors_carry_is_not_called_infeasible() -> None:
    fewer = replace(MOST, executors=2)
    carries, does_not = Point(2, 2500, 0.1, 6.0), Point(5, 2500, 0.1, 22.9)
    assert messages.infeasible(at(fewer, (carries, does_not))) == ""
    assert messages.infeasible(at(MOST, (does_not,)))


def test_it_has_its_place_after_every_other_knob() -> None:
    assert knobs.LADDER[-1] is KNOB

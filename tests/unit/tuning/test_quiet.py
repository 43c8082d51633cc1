"""Steady input needs less of a dead band, but not twice where that was wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, policy

from trimtab.tuning.capacity.points import Point
from trimtab.tuning.knobs import parallelism
from trimtab.tuning.quiet import MEMORY_S, QUIET_S, Quiet

STEADY = Quiet(rate=1000.0, since_s=0.0)


def test_input_that_leaves_its_level_is_not_quiet() -> None:
    assert STEADY.observe(400.0, 1080.0) == STEADY, "noise"
    moved = STEADY.observe(400.0, 1200.0)
    assert not moved.light(400.0)
    assert moved.light(400.0 + QUIET_S)


def test_nothing_may_have_changed_for_as_long() -> None:
    assert STEADY.light(QUIET_S)
    assert not STEADY.moved(QUIET_S).light(QUIET_S + 1)


@pytest.mark.parametrize(
    ("level", "again"), [(1000.0, False), (1050.0, False), (2000.0, True), (500.0, True)]
)
def test_what_was_taken_back_is_not_tried_again_at_that_level(level: float, again: bool) -> None:
    back = STEADY.released(quietly=True).raised(400.0).observe(500.0, level)
    assert back.light(5000.0) is again
    assert back.light(400.0 + MEMORY_S), "for hours, not for good"


def test_only_a_release_that_quiet_alone_allowed_is_remembered() -> None:
    assert STEADY.released(quietly=False).raised(400.0).taken_back == ()


def test_a_raise_for_more_input_says_nothing_about_the_release() -> None:
    seen = STEADY.released(quietly=True).observe(400.0, 3000.0).raised(410.0)
    assert seen.taken_back == ()
    assert seen.probed is None


def test_levels_are_bounded_and_the_newest_stay() -> None:
    seen = STEADY
    for step in range(30):
        seen = seen.observe(step * 10.0, 100 * 1.3**step).released(quietly=True).raised(step * 10.0)
    assert len(seen.taken_back) == 8
    assert seen.taken_back[-1][1] == 290.0


@pytest.mark.parametrize(("quiet", "left"), [(STEADY, 5), (STEADY.moved(900.0), None)])
def test_steady_input_lets_executors_go_that_the_dead_band_keeps(
    quiet: Quiet, left: int | None
) -> None:
    """Six executors have a load of 0.56, five would have 0.66: between 0.5 and 0.8."""
    settings = replace(START, executors=6, trigger_s=5.0, max_offsets=20_000)
    points = (Point(6, 2000, 0.0, 2.0, batches=5),)
    seen = context(
        load=560.0, settings=settings, points=points, seen={"partitions": 13, "waves": False},
        asked=policy(max_executors=13), quiet=quiet,
    )  # fmt: skip
    offer = parallelism.KNOB.release(seen)
    assert (offer.settings.executors if offer else None) == left

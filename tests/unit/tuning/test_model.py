"""The capacity model: what it learns from batches, and the laws that follow from it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.tuning.capacity.fit import fit
from trimtab.tuning.capacity.model import USUAL_EXPONENT, Model, at_work
from trimtab.tuning.capacity.points import (
    ASSUMED_S,
    ENOUGH,
    KNEE_S,
    REPEATED,
    SEEN_STEP_S,
    Point,
    knees,
    learn,
)


def true_batch(records: int, slots: int, *, out: float = 0.1, fixed: float = 2.8) -> Point:
    """A batch of the quickstart: 8 ms a record, 2.8 slot-seconds for 12 tasks, 0.1 s outside."""
    return Point(slots, records, out, out + (fixed + 0.008 * records) / slots)


def test_no_points_give_no_model() -> None:
    assert fit([], tasks=12) is None


def test_one_size_is_pessimistic_above_it_and_right_at_it() -> None:
    model = fit([true_batch(250, 1)], tasks=12)
    assert model is not None
    assert model.duration_s(250, 1) == pytest.approx(4.9)
    assert model.duration_s(2500, 1) > 22.9


def test_two_sizes_tell_overhead_from_work() -> None:
    model = fit([true_batch(250, 1), true_batch(2500, 1)], tasks=12)
    assert model is not None
    assert 0.98 * 125 < model.capacity(1) < 125, "with a margin"
    assert model.overhead_s(1) == pytest.approx(2.9, rel=0.1)
    assert model.overhead_s(4) == pytest.approx(0.8, rel=0.1)
    assert model.sustainable(1, 10) == pytest.approx(125 * (1 - 0.29), rel=0.03)
    grown = model.capacity(1) * 4**USUAL_EXPONENT
    assert model.capacity(4) == pytest.approx(grown), "no second slot count yet"


def test_what_was_measured_wins_over_linear() -> None:
    slow = Point(4, 2500, 0.1, 0.1 + (2.8 + 0.012 * 2500) / 4)
    model = fit([true_batch(250, 1), true_batch(2500, 1), slow], tasks=12)
    assert model is not None
    assert model.capacity(4) == pytest.approx(4 / 0.012, rel=0.02)
    assert model.capacity(1) < model.capacity(2) < model.capacity(4)
    assert model.capacity(4) < model.capacity(8) < 8 / 0.012


def scaled(*slots: int, exponent: float) -> Model:
    """Learned from batches whose capacity grows as slots^exponent, 100/s on one."""
    points = [Point(p, 1000, 0.0, 1000 / (100 * p**exponent)) for p in slots]
    model = fit(points, tasks=64)
    assert model is not None
    return model


def test_beyond_what_is_learned_capacity_goes_on_as_it_grew() -> None:
    model = scaled(1, 4, exponent=0.8)
    assert model.exponent == pytest.approx(0.8)
    assert model.capacity(16) == pytest.approx(100 * 16**0.8, rel=1e-3)
    assert model.capacity(4) == pytest.approx(100 * 4**0.8, rel=1e-3)


def test_slots_that_lie_close_together_tell_no_exponent() -> None:
    points = [Point(4, 1000, 0.0, 2.5), Point(5, 1000, 0.0, 2.4)]
    model = fit(points, tasks=64)
    assert model is not None
    assert model.exponent == USUAL_EXPONENT
    near = fit([Point(1, 1000, 0.0, 10.0), *points], tasks=64)
    assert near is not None
    assert near.exponent == pytest.approx(math.log(10 / 2.4) / math.log(5))


def test_the_exponent_is_that_of_the_last_stretch_and_bounded() -> None:
    assert scaled(1, 2, 8, exponent=0.2).exponent == 0.5
    assert scaled(1, 8, exponent=1.3).exponent == 1.0
    bend = fit([Point(1, 1000, 0.0, 10.0), Point(4, 1000, 0.0, 2.5), Point(16, 1000, 0.0, 1.0)], 64)
    assert bend is not None
    assert bend.exponent == pytest.approx(math.log(2.5) / math.log(4))


def test_below_what_is_learned_capacity_is_proportional() -> None:
    assert scaled(4, 16, exponent=0.8).capacity(1) == pytest.approx(100 * 4**0.8 / 4, rel=1e-3)


def test_slots_beyond_the_tasks_do_nothing() -> None:
    model = Model(out_s=0.1, fixed=1.0, per_record=((1, 0.01),), tasks=4)
    assert model.capacity(16) == model.capacity(4)
    assert model.overhead_s(16) == model.overhead_s(4)


def whole(duration_s: float, slots: int, *, tasks: int = 12) -> Model:
    """Learned from one batch of 1200 records, whose tasks run whole."""
    model = fit([Point(slots, 1200, 0.0, duration_s)], tasks, waves=True)
    assert model is not None
    return model


def test_tasks_that_run_whole_take_waves() -> None:
    """12 tasks of 1 s: three waves on 4 slots and on 5, two on 6, as on 11, and one on 12."""
    four = whole(3.0, 4)
    assert four.capacity(5) == pytest.approx(400)
    assert four.learned(5)
    assert whole(3.0, 5).capacity(4) == pytest.approx(400)
    assert four.capacity(6) == pytest.approx(four.capacity(11))
    assert 1.4 < four.capacity(6) / four.capacity(4) <= 1.5
    assert whole(1.0, 12).capacity(11) == pytest.approx(600)
    assert whole(1.0, 12).capacity(20) == pytest.approx(1200)


@given(tasks=st.integers(1, 200), slots=st.integers(1, 250))
def test_as_many_slots_as_are_at_work_do_the_same(tasks: int, slots: int) -> None:
    used = at_work(slots, tasks, waves=True)
    assert 1 <= used <= min(slots, tasks)
    assert at_work(used, tasks, waves=True) == pytest.approx(used)
    assert at_work(math.ceil(used), tasks, waves=True) == pytest.approx(used)
    assert at_work(slots, tasks, waves=False) == min(slots, tasks)


def test_a_trigger_shorter_than_the_overhead_sustains_nothing() -> None:
    model = Model(out_s=0.5, fixed=1.0, per_record=((1, 0.01),), tasks=4)
    assert model.sustainable(1, 1.0) == 0


def test_sustainable_is_where_the_batch_fills_its_trigger() -> None:
    model = Model(out_s=0.2, fixed=1.0, per_record=((1, 0.01),), tasks=8)
    rate = model.sustainable(2, 5.0)
    assert model.duration_s(rate * 5.0, 2) == pytest.approx(5.0)


def test_a_point_is_a_mean_that_comes_to_rest() -> None:
    points: tuple[Point, ...] = ()
    for duration_s in (4.8, 5.0, 4.6, 5.2, 4.9):
        points = learn(points, Point(1, 250, 0.1, duration_s))
    assert points == (
        Point(1, 250, 0.1, 4.9, batches=ENOUGH, fastest_s=0.0192, slowest_s=0.0208),
    )  # fmt: skip
    assert learn(points, Point(1, 260, 0.1, 5.3)) is points


def test_a_batch_that_differs_clearly_moves_it_half_of_the_way() -> None:
    points = (Point(1, 250, 0.1, 4.8, batches=ENOUGH),)
    once = learn(points, Point(1, 250, 0.1, 9.0))
    assert once == (Point(1, 250, 0.1, 6.9, batches=2, fastest_s=0.036, slowest_s=0.036),)
    for _ in range(6):
        once = learn(once, Point(1, 250, 0.1, 9.0))
    assert once[0].duration_s == pytest.approx(9.0, rel=0.1)


def test_a_point_at_rest_still_shows_how_far_its_batches_lie_apart_and_when_it_was_seen() -> None:
    rest = Point(1, 250, 0.1, 4.9, batches=ENOUGH, fastest_s=0.0184, slowest_s=0.0208)
    assert learn((rest,), Point(1, 250, 0.1, 5.4, seen_s=100.0)) == (rest,)
    (slower,) = learn((rest,), Point(1, 250, 0.1, 5.5, seen_s=100.0))
    assert slower == replace(rest, slowest_s=0.022)
    (later,) = learn((rest,), Point(1, 250, 0.1, 5.0, seen_s=SEEN_STEP_S))
    assert later == replace(rest, seen_s=SEEN_STEP_S)


NOW = Point(4, 1000, 0.0, 2.5, batches=REPEATED, seen_s=1800.0)
"""10 ms a record in each of four slots."""


@pytest.mark.parametrize(
    ("few", "kept"),
    [
        (Point(2, 1000, 0.0, 6.1, batches=5), False),
        (Point(2, 1000, 0.0, 5.9, batches=5), True),
        (Point(2, 1000, 0.0, 9.0, batches=5, seen_s=600.0), True),
        (Point(2, 500, 0.0, 9.0, batches=5), True),
        (Point(2, 1000, 0.0, 9.0, 8, batches=5), True),
        (Point(8, 1000, 0.0, 9.0, batches=5), True),
    ],
    ids=["slower each", "noise", "seen lately", "smaller batches", "other calls", "more slots"],
)
def test_fewer_slots_are_not_believed_for_hours_to_carry_less_than_in_proportion(
    few: Point, kept: bool
) -> None:
    """12.2 ms a record in each of two, as long as half an hour ago."""
    new = replace(NOW, batches=1)
    assert (few in learn((few, NOW), new)) is kept
    assert few in learn((few, replace(NOW, batches=2)), new), "two batches prove nothing"


def test_an_empty_batch_teaches_nothing() -> None:
    assert learn((), Point(1, 0, 0.1, 0.2)) == ()


def test_memory_stays_small() -> None:
    points: tuple[Point, ...] = ()
    for slots in range(1, 30):
        for size in (10, 100, 1000, 10_000, 100_000, 1_000_000):
            points = learn(points, Point(slots, size, 0.1, 1.0))
    assert len(points) <= 24


SEED = {100: 0.2, 1000: 0.25, 2000: 0.3}
"""Seed 000: bulk puts of 100, 1,000 and 2,000 records take 200, 250 and 300 ms."""


def regimes(seconds: float, slots: float = 1, **known: Any) -> list[Point]:
    """Four sizes, the largest of which took `seconds`."""
    told = {"batches": REPEATED} | known
    return [Point(slots, n, 0.0, s, **told) for n, s in (SEED | {4000: seconds}).items()]


@pytest.mark.parametrize(("seconds", "knee"), [(0.6, None), (0.7, None), (0.75, 2000), (1.2, 2000)])
def test_the_third_regime_begins_where_a_record_costs_more(
    seconds: float, knee: int | None
) -> None:
    """4,000 records would take 0.6 s at the price of the best smaller batch."""
    points = regimes(seconds)
    assert knees(points).get(1) == knee
    assert knees([replace(p, batches=REPEATED - 1) for p in points]) == {}, "too few batches"
    assert knees(points[2:]) == {}, "two sizes may both be noise"
    model = fit(points, tasks=12)
    assert model is not None
    assert model.knee(1) == knee


def test_sizes_whose_batches_overlap_show_no_knee() -> None:
    """A record of 4,000 takes twice as long in the mean, but one such batch was as fast."""
    *small, large = regimes(1.2)
    apart = [*(replace(p, slowest_s=1.1 * p.each_s) for p in small), large]
    assert knees([*apart[:-1], replace(large, fastest_s=0.0002)]) == {1: 2000}
    assert knees([*apart[:-1], replace(large, fastest_s=0.00016)]) == {}


def test_a_knee_holds_for_the_slots_and_calls_at_which_it_was_seen() -> None:
    model = fit([*regimes(1.2), Point(4, 1000, 0.0, 0.1)], tasks=12)
    assert model is not None
    assert (model.knee(1), model.knee(4)) == (2000, None)
    calls = fit([*regimes(1.2, in_flight=2), Point(1, 1000, 0.0, 0.1, in_flight=4)], 12, 4)
    assert calls is not None
    assert calls.knee(1) is None


def test_batches_past_a_knee_are_forgotten_when_they_are_not_seen_any_more() -> None:
    points = tuple(regimes(1.2, seen_s=0.0))
    small = Point(1, 2000, 0.0, 0.3, seen_s=KNEE_S - 1)
    assert {p.records for p in learn(points, small)} == {100, 1000, 2000, 4000}
    late = learn(points, replace(small, seen_s=KNEE_S))
    assert {p.records for p in late} == {100, 1000, 2000}


def test_a_slope_from_sizes_close_together_is_not_believed() -> None:
    """125 and 250 records took 4.2 and 4.5 s: noise says 2.4 ms a record, the truth is 8."""
    noisy = fit([Point(1, 125, 0.1, 4.2), Point(1, 250, 0.1, 4.5)], tasks=12)
    assert noisy is not None
    assert 55 < noisy.capacity(1) < 125


def test_batches_of_other_sizes_are_not_compared() -> None:
    model = fit([Point(1, 250, 0.1, 4.5), Point(2, 2500, 0.1, 11.0), Point(3, 600, 0.1, 3.0)], 12)
    assert model is not None
    assert not model.comparable(1, 2)
    assert model.comparable(1, 3)
    assert model.comparable(1, 4), "one that was not seen is an estimate anyway"


@pytest.mark.parametrize(
    ("seconds_", "batches", "age_s", "kept"),
    [
        (8.0, 0, ASSUMED_S, False), (8.0, 0, ASSUMED_S - 1, True), (5.0, 0, ASSUMED_S, True),
        (9.5, 1, ASSUMED_S, False), (8.0, 1, ASSUMED_S, True), (9.5, 2, ASSUMED_S, True),
    ],
    ids=["hardly more, and old", "hardly more, but fresh", "far more", "one batch: less",
         "one batch: hardly more", "two batches: less"],
)  # fmt: skip
def test_what_a_single_batch_says_of_more_slots_does_not_keep_them_from_being_tried(
    seconds_: float, batches: int, age_s: float, *, kept: bool
) -> None:
    """While it is believed that more slots do not help, nobody tries them."""
    more = Point(16, 10_000, 0.0, seconds_, batches=batches)
    after = learn((more,), Point(8, 10_000, 0.0, 9.0, seen_s=age_s))
    assert (more in after) is kept
    assert len(after) == 1 + kept

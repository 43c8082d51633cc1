"""Verdicts: what failed is not tried again at that level until something changed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, batch, open_trial, policy

from trimtab.api.reasons import Reason
from trimtab.tuning.capacity.learning import learned
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.controller_state import Trial, Verdict
from trimtab.tuning.settings import Settings
from trimtab.tuning.trials import judgement
from trimtab.tuning.trials.verdicts import LONGEST_S, MAX_VERDICTS, RETRY_S, holds, remember

TRIED = Settings(4, 5.0, 2500)


def failing(trials: list[Trial]) -> list[Verdict]:
    """The verdicts on trials that fail one after the other."""
    verdicts: tuple[Verdict, ...] = ()
    told = []
    for ended in trials:
        verdicts = remember(verdicts, ended, TRIED, 1000.0, 125.0)
        told.append(verdicts[-1])
    return told


def test_each_failure_in_a_row_is_believed_twice_as_long_but_none_for_ever() -> None:
    told = failing([open_trial()] * 6)
    assert [v.until_s - 1000.0 for v in told] == [RETRY_S * n for n in (1, 2, 4, 8, 12, 12)]
    assert told[-1].until_s - 1000.0 == LONGEST_S
    assert [v.failures for v in told] == [1, 2, 3, 4, 5, 6]


def test_what_cannot_be_reverted_is_tried_again_only_once_something_changed() -> None:
    now = context(load=280.0)
    over = Verdict("parallelism", True, 4, 280.0, until_s=0.0, before=now.settings)
    assert not holds(over, now)
    assert holds(replace(over, knob="topic"), now)


@pytest.mark.parametrize(
    "other",
    [
        open_trial(input_rate=400.0),
        open_trial(before=Settings(1, 2.0, 2500)),
        open_trial(knob="batch-size"),
        open_trial(raises=False),
    ],
)
def test_another_level_and_another_knob_that_moved_begin_anew(other: Trial) -> None:
    assert [v.failures for v in failing([open_trial(), open_trial(), other])] == [1, 2, 1]


def test_how_many_executors_it_began_from_makes_no_difference() -> None:
    more = open_trial(before=Settings(3, 5.0, 2500))
    assert [v.failures for v in failing([open_trial(), more])] == [1, 2]


def test_a_load_within_a_fifth_is_the_same_level() -> None:
    trials = [open_trial(input_rate=280.0), open_trial(input_rate=300.0)]
    assert [v.failures for v in failing(trials)] == [1, 2]


def test_the_memory_of_it_is_bounded() -> None:
    verdicts: tuple[Verdict, ...] = ()
    for level in range(20):
        verdicts = remember(verdicts, open_trial(input_rate=100.0 * 2**level), TRIED, 1000.0, 0.0)
    assert len(verdicts) == MAX_VERDICTS
    again = remember(verdicts, open_trial(input_rate=100.0 * 2**19), TRIED, 1700.0, 0.0)
    assert [v.failures for v in again] == [1] * 7 + [2]


def test_a_verdict_speaks_until_something_changed() -> None:
    now = context(load=280.0)
    assert now.load.input_rate == pytest.approx(280.0)
    verdict = Verdict("parallelism", True, 4, 280.0, 9e9, 2, now.settings, now.carried)
    assert holds(verdict, now)
    assert holds(replace(verdict, input_rate=240.0), now)
    assert not holds(replace(verdict, input_rate=200.0), now), "another load"
    assert not holds(replace(verdict, capacity=0.7 * now.carried), now), "another capacity"
    other = replace(now.settings, trigger_s=2.0)
    assert not holds(replace(verdict, before=other), now), "another trigger"
    assert not holds(replace(verdict, until_s=now.snapshot.now_s), now), "its time is over"


@pytest.mark.parametrize(
    ("judged", "rate", "kept"),
    [(2, 160.0, True), (2, 140.0, False), (1, 160.0, False), (4, 140.0, True)],
)
def test_a_rate_that_grew_by_half_needs_no_four_batches(
    judged: int, rate: float, kept: bool
) -> None:
    """Batches jitter and small gains count under a goal of `max`; two tell a large one."""
    watched = open_trial(judged=judged, rate=rate, rate_before=100.0)
    now = context(load=280.0, asked=policy(maximum=True, target_s=None))
    end = judgement.judge(watched, now.snapshot, now.model, now.load, now.band)
    assert (end is not None and end.reason is Reason.TRIAL_KEPT) is kept


@pytest.mark.parametrize(
    ("duration_s", "learned", "kept"),
    [(25.0, True, True), (9.0, True, False), (25.0, False, False)],
)
def test_a_long_batch_that_drowns_still_needs_no_second(
    duration_s: float, *, learned: bool, kept: bool
) -> None:
    """But only if it taught what its settings carry, and they carry more than those before."""
    watched = open_trial(judged=1, input_rate=280.0, before=Settings(1, 5.0, 2500))
    long = batch(id=20, records=2500, duration_s=duration_s, executors_min=1)
    settings, seen = Settings(1, 5.0, 2500), {"batch": long, "lag_records": 20_000.0}
    now = context(load=280.0, settings=settings, seen=seen)
    assert now.load.capacity > 1
    known = (watched, now.snapshot, now.model, now.load, now.band)
    end = judgement.judge(*known, carried=now.carried / 2, learned=learned)
    assert (end is not None and end.reason is Reason.TRIAL_KEPT) is kept
    worse = judgement.judge(*known, carried=now.carried * 2, learned=learned)
    assert worse is None, "it is put back on the word of two"


def test_only_a_batch_at_the_present_settings_tells_what_these_carry() -> None:
    one = replace(START, max_in_flight=1)
    few, many = (Point(one.executors, 1000, 0.2, 9.0, calls) for calls in (1, 4))
    now = context(settings=replace(one, max_in_flight=4)).snapshot
    assert not learned(now, (few,))
    assert learned(now, (few, many))
    assert not learned(now, (few, replace(many, batches=0))), "only brought to another pace"
    assert not learned(now, (few, replace(many, slots=2))), "on other slots"


@pytest.mark.parametrize(("slowdown", "kept"), [(1.0, False), (2.0, True)])
def test_a_slower_pace_is_not_held_against_the_raise_that_meets_it(
    slowdown: float, *, kept: bool
) -> None:
    """Rates of before a slowdown are no measure for a raise during it."""
    watched = open_trial(
        judged=2, input_rate=280.0, load_before=1.5, rate=150.0, rate_before=200.0,
        slowdown=slowdown, predicted_load=0.9,
    )  # fmt: skip
    long = batch(id=20, records=4000, duration_s=25.0, executors_min=1)
    now = context(load=280.0, seen={"batch": long, "lag_records": 20_000.0})
    assert now.load.value > 1.1 * watched.load_before
    end = judgement.judge(watched, now.snapshot, now.model, now.load, now.band)
    assert end is not None
    assert (end.reason is Reason.TRIAL_KEPT) is kept
    assert "the capacity before is not known" in end.message

"""Verdicts: what failed is not tried again at that level until something changed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import open_trial

from trimtab.tuning.memory import Trial, Verdict
from trimtab.tuning.settings import Settings
from trimtab.tuning.verdicts import MAX_VERDICTS, RETRY_S, holds, remember

TRIED = Settings(4, 5.0, 2500)


def failing(trials: list[Trial]) -> list[Verdict]:
    """The verdicts on trials that fail one after the other."""
    verdicts: tuple[Verdict, ...] = ()
    told = []
    for trial in trials:
        verdicts = remember(verdicts, trial, TRIED, 1000.0, 125.0)
        told.append(verdicts[-1])
    return told


def test_the_first_failure_may_be_noise_and_the_second_is_believed() -> None:
    assert [v.until_s for v in failing([open_trial()] * 3)] == [1000.0 + RETRY_S, None, None]
    assert [v.failures for v in failing([open_trial()] * 3)] == [1, 2, 3]


@pytest.mark.parametrize(
    "other",
    [
        open_trial(steady=400.0),
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
    trials = [open_trial(steady=280.0), open_trial(steady=300.0)]
    assert [v.failures for v in failing(trials)] == [1, 2]


def test_the_memory_of_it_is_bounded() -> None:
    verdicts: tuple[Verdict, ...] = ()
    for level in range(20):
        verdicts = remember(verdicts, open_trial(steady=100.0 * 2**level), TRIED, 1000.0, 0.0)
    assert len(verdicts) == MAX_VERDICTS
    again = remember(verdicts, open_trial(steady=100.0 * 2**19), TRIED, 1700.0, 0.0)
    assert [v.failures for v in again] == [1] * 7 + [2]


def test_a_verdict_speaks_until_something_changed() -> None:
    now = context(load=280.0)
    assert now.load.steady == pytest.approx(280.0)
    verdict = Verdict("parallelism", True, 4, 280.0, None, 2, now.settings, now.capacity)
    assert holds(verdict, now)
    assert holds(replace(verdict, steady=240.0), now)
    assert not holds(replace(verdict, steady=200.0), now), "another load"
    assert not holds(replace(verdict, capacity=0.7 * now.capacity), now), "another capacity"
    other = replace(now.settings, trigger_s=2.0)
    assert not holds(replace(verdict, before=other), now), "another trigger"
    assert not holds(replace(verdict, until_s=now.snapshot.now_s), now), "its time is over"

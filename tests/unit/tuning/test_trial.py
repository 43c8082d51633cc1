"""Verdicts: what failed waits longer each time, for its level and other knobs only."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.test_decision import open_trial

from trimtab.tuning.memory import Trial, Verdict
from trimtab.tuning.snapshot import Settings
from trimtab.tuning.trial import MAX_VERDICTS, remember

TRIED = Settings(4, 5.0, 2500)


def failing(trials: list[Trial], *, pause_s: float = 60.0) -> list[Verdict]:
    """The verdicts on trials that fail one after the other, each as soon as it may begin."""
    now_s, verdicts, told = 1000.0, (), []  # type: float, tuple[Verdict, ...], list[Verdict]
    for trial in trials:
        verdicts = remember(verdicts, trial, TRIED, now_s)
        told.append(replace(verdicts[-1], until_s=verdicts[-1].until_s - now_s))
        now_s = verdicts[-1].until_s + pause_s
    return told


def waits(trials: list[Trial], *, pause_s: float = 60.0) -> list[float]:
    return [v.until_s for v in failing(trials, pause_s=pause_s)]


def test_each_failure_waits_twice_as_long_up_to_a_limit() -> None:
    assert waits([open_trial()] * 6) == [600, 1200, 2400, 4800, 4800, 4800]
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
    assert waits([open_trial(), open_trial(), other]) == [600, 1200, 600]


def test_how_many_executors_it_began_from_makes_no_difference() -> None:
    more = open_trial(before=Settings(3, 5.0, 2500))
    assert waits([open_trial(), more]) == [600, 1200]


def test_a_load_within_a_fifth_is_the_same_level() -> None:
    assert waits([open_trial(steady=280.0), open_trial(steady=300.0)]) == [600, 1200]


def test_what_has_long_not_failed_is_forgotten() -> None:
    assert waits([open_trial()] * 2, pause_s=4799) == [600, 1200]
    assert waits([open_trial()] * 2, pause_s=4801) == [600, 600]


def test_the_memory_of_it_is_bounded() -> None:
    verdicts: tuple[Verdict, ...] = ()
    for level in range(20):
        verdicts = remember(verdicts, open_trial(steady=100.0 * 2**level), TRIED, 1000.0)
    assert len(verdicts) == MAX_VERDICTS
    again = remember(verdicts, open_trial(steady=100.0 * 2**19), TRIED, 1700.0)
    assert [v.failures for v in again] == [1] * 7 + [2]

"""The nasty scenarios keep their promises."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulation.nasty import Nasty
from simulation.nasty_cases import CASES
from trimtab.api.reasons import Reason


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_nasty_scenario_keeps_its_promises(case: Nasty) -> None:
    assert case.broken(case.runs()) == []


def test_a_batch_that_does_not_end_is_given_more_executors_once_and_not_for_long() -> None:
    (run,) = _named("poison-batch").runs()
    ends_s = 900 + 3600
    during = [t for t in run.ticks if 900 < t.at_s < ends_s]
    assert max(tick.after.settings.executors for tick in during) == 12, "twice as many, on trial"
    late = {tick.after.settings.executors for tick in during if tick.at_s > 1300}
    assert late == {6}, "a trial without a verdict is not kept"


def test_a_release_that_a_rise_overtakes_is_put_back_at_once() -> None:
    (run,) = _named("squares-90").runs()
    told = [(tick, d) for tick in run.ticks for d in tick.decision.told]
    ((put_back, decision),) = [each for each in told if each[1].reason is Reason.RISE_OVERTOOK]
    released = [t for t in run.changes if t.at_s < put_back.at_s][-1]
    assert released.decision.reason is Reason.EXECUTORS_RELEASED
    assert put_back.at_s - released.at_s <= 60
    assert decision.settings.executors >= released.before.settings.executors


@pytest.mark.parametrize("trigger_s", [0.7, 0.3])
def test_a_goal_below_a_second_finds_a_trigger_that_holds_it(trigger_s: float) -> None:
    (run,) = _named(f"trigger-{trigger_s}").runs()
    assert run.final.trigger_s == trigger_s


def _named(name: str) -> Nasty:
    return next(case for case in CASES if case.name == name)


def test_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))


def test_a_broken_promise_is_told_with_its_figure() -> None:
    case = _named("low-limit")
    runs = case.runs()
    (told,) = replace(case, violated_s=0, cores=9, most=9).broken(runs)
    assert told.startswith("violated_s ")
    assert case.broken(runs) == []

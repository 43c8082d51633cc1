"""The nasty scenarios keep their promises."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulation.nasty import Nasty
from simulation.nasty_cases import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_nasty_scenario_keeps_its_promises(case: Nasty) -> None:
    assert case.broken(case.runs()) == []


def test_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))


def test_a_broken_promise_is_told_with_its_figure() -> None:
    case = next(case for case in CASES if case.name == "low-limit")
    runs = case.runs()
    (told,) = replace(case, violated_s=0, cores=9, most=9).broken(runs)
    assert told.startswith("violated_s ")
    assert case.broken(runs) == []

"""The nasty scenarios keep their promises, but for those that are known not to yet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulation.nasty import Nasty
from simulation.nasty_cases import CASES, OPEN


def _row(case: Nasty) -> object:
    words = OPEN.get(case.name)
    marks = [pytest.mark.xfail(reason=words, strict=True)] if words else []
    return pytest.param(case, id=case.name, marks=marks)


@pytest.mark.parametrize("case", [_row(case) for case in CASES])
def test_a_nasty_scenario_keeps_its_promises(case: Nasty) -> None:
    assert case.broken(case.runs()) == []


def test_names_are_unique_and_open_ones_exist() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))
    assert set(OPEN) <= set(names)


def test_a_broken_promise_is_told_with_its_figure() -> None:
    case = next(case for case in CASES if case.name == "low-limit")
    runs = case.runs()
    (told,) = replace(case, violated_s=0, cores=9, most=9).broken(runs)
    assert told.startswith("violated_s ")
    assert case.broken(runs) == []

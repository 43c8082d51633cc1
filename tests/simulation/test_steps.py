"""Steps to the right number of executors on the measured curve of Nexmark Q1 (bench/steps.py)."""

from __future__ import annotations

import statistics

import pytest
from bench.steps import SETTINGS, Setting, first_visits, second_visits


@pytest.mark.parametrize("setting", SETTINGS, ids=["at 1.0", "at 0.9"])
def test_every_load_ends_exact_from_below_and_from_above(setting: Setting) -> None:
    cases = list(first_visits(setting))
    assert len(cases) == 14
    assert [c for c in cases if not c.counts] == []
    assert statistics.mean(c.steps for c in cases) <= 2.0
    assert max(c.steps for c in cases) <= 3


@pytest.mark.parametrize("setting", SETTINGS, ids=["at 1.0", "at 0.9"])
def test_a_load_that_was_seen_before_takes_one_step(setting: Setting) -> None:
    cases = list(second_visits(setting))
    assert statistics.mean(c.steps for c in cases) <= 1.0
    assert sum(c.counts for c in cases) >= 13

"""docs/policy-cookbook.md: each recipe is a policy that the models take and that does what it says.

`test_docs.py` reads its examples too, as those of every page.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml

from trimtab.api.schedule import opening
from trimtab.api.v1alpha1.policies import (
    ClusterTuningPolicySpec,
    Outside,
    TuningPolicySpec,
)
from trimtab.api.v1alpha1.tuning import Mode

PAGE = Path(__file__).parents[2] / "docs" / "policy-cookbook.md"
KINDS = {"TuningPolicy": TuningPolicySpec, "ClusterTuningPolicy": ClusterTuningPolicySpec}
SECTIONS = re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.DOTALL | re.M)


def recipe(title: str) -> list[TuningPolicySpec]:
    text = dict(SECTIONS)[title]
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    documents: list[dict[str, Any]] = list(yaml.safe_load_all(block))
    return [KINDS[each["kind"]].model_validate(each["spec"]) for each in documents]


@pytest.mark.parametrize("title", [title for title, _ in SECTIONS])
def test_every_section_has_a_recipe_that_says_something(title: str) -> None:
    for spec in recipe(title):
        assert spec.model_dump(exclude_defaults=True, exclude={"selector"})


def open_at(spec: TuningPolicySpec, time: str) -> bool:
    windows = spec.windows
    zone = ZoneInfo(windows[0].time_zone)
    now_s = datetime.fromisoformat(time).replace(tzinfo=zone).timestamp()
    return any(opening(w.start, w.duration, w.time_zone, now_s).open for w in windows)


@pytest.mark.parametrize(
    ("time", "changes"),
    [
        ("2026-11-25T07:59", True), ("2026-11-25T08:00", False), ("2026-11-25T17:59", False),
        ("2026-11-25T18:00", True), ("2026-11-27T12:00", False), ("2026-11-27T18:00", True),
        ("2026-11-28T12:00", True), ("2026-11-30T07:59", True), ("2026-11-30T08:00", False),
    ],
)  # fmt: skip
def test_business_hours_are_frozen(time: str, changes: bool) -> None:
    (spec,) = recipe("Freeze in business hours")
    assert open_at(spec, time) is changes


@pytest.mark.parametrize(("hour", "all_changes"), [(5, False), (6, True), (21, True), (22, False)])
def test_at_night_there_are_only_raises(hour: int, all_changes: bool) -> None:
    (spec,) = recipe("Only raises at night")
    assert open_at(spec, f"2026-11-25T{hour:02}:00") is all_changes
    assert spec.outside_windows is Outside.RAISES


def test_who_has_earned_more_is_not_held_to_recommend() -> None:
    (spec,) = recipe("Recommend first, then Auto")
    assert spec.mode is Mode.RECOMMEND
    assert spec.selector.matches({})
    assert not spec.selector.matches({"tuning": "auto"})


def test_no_two_recipes_of_a_section_fight() -> None:
    cheap, fast = recipe("Cheap by default, fast where it matters")
    assert cheap.overrides == TuningPolicySpec().overrides
    assert fast.defaults == TuningPolicySpec().defaults

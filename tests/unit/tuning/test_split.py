"""Splitting partitions where a person allows it: against skew, and for more slots than those."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import POINTS, START, policy

from trimtab.api.knobs import How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning import guards
from trimtab.tuning.capacity.learning import at_settings
from trimtab.tuning.capacity.points import Point, learn
from trimtab.tuning.context import Context
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.diagnosis.bottleneck import diagnose
from trimtab.tuning.dwell import DwellCounter
from trimtab.tuning.knobs import split

FOUR = replace(START, executors=4, trigger_s=5.0, min_partitions=1)
SKEWED = (Point(4, 1400, 0.1, 6.0),)
"""4.2 s would be an even share of the work on four slots."""


def at(tasks: int | None = 32, share: float | None = 0.5, **changes: Any) -> Context:
    seen = {"hottest_share": share, "partitions": 12} | changes.pop("seen", {})
    given = {"settings": FOUR, "points": SKEWED, "asked": policy(max_tasks=tasks)} | changes
    return context(load=280.0, seen=seen, **given)


def kind(seen: Context) -> Kind:
    return diagnose(seen.snapshot, seen.model, seen.load).kind


def test_skew_is_cut_into_two_tasks_for_each_slot() -> None:
    seen = at()
    assert kind(seen) is Kind.SKEW
    offer = split.KNOB.raise_(seen)
    assert offer is not None
    assert (offer.settings.min_partitions, offer.settings.executors) == (16, 4)
    assert (offer.how, offer.reason) == (How.QUERY, Reason.PARTITIONS_SPLIT)
    assert offer.predicted < seen.load.value / 1.5  # half of the records were in one task of four


def test_slots_that_idle_in_the_last_wave_are_told_by_one_digit() -> None:
    three = replace(FOUR, executors=3)  # eight tasks, three at a time: 2.666... are at work
    points = (Point(3, 1400, 0.1, 8.0),)
    seen = at(settings=three, points=points, share=0.6, seen={"partitions": 8, "waves": True})
    said = diagnose(seen.snapshot, seen.model, seen.load)
    assert said.kind is Kind.SKEW
    assert said.evidence == (
        "the busiest partition holds 60% of the records, an even share for 2.7 slots is 38%"
    )


def test_where_nobody_allows_it_nothing_is_cut() -> None:
    assert split.KNOB.raise_(at(tasks=None)) is None
    assert split.KNOB.raise_(at(tasks=12)) is None


def test_what_is_cut_is_no_skew_and_is_not_cut_again() -> None:
    seen = at(settings=replace(FOUR, min_partitions=16))
    assert kind(seen) is not Kind.SKEW
    assert split.KNOB.raise_(seen) is None


def test_slots_without_a_partition_get_one_together_with_the_executors_that_need_it() -> None:
    settings = replace(START, executors=2, trigger_s=5.0, min_partitions=1)
    seen = at(share=0.5, settings=settings, points=POINTS, seen={"partitions": 2},
              asked=policy(max_tasks=16, max_executors=8))  # fmt: skip
    assert kind(seen) is Kind.SOURCE_PARTITIONS
    offer = split.KNOB.raise_(seen)
    assert offer is not None
    assert offer.settings.executors > 2
    assert offer.settings.min_partitions == 2 * offer.settings.executors
    assert offer.predicted <= 0.8


@pytest.mark.parametrize(("tasks", "vetoed"), [(16, False), (15, True), (None, True)])
def test_the_limit_of_tasks_is_kept(tasks: int | None, vetoed: bool) -> None:
    offer = split.KNOB.raise_(at())
    assert offer is not None
    assert (guards.limits(at(tasks=tasks), offer) is not None) == vetoed


def test_a_knob_without_a_value_goes_through_json() -> None:
    kept = ControllerState(generation=1, settings=FOUR, evidence=DwellCounter())
    assert ControllerState.from_dict(kept.to_dict()) == kept
    assert START.differences(FOUR)[-1] == "minPartitions unset -> 1"


def test_batches_of_uncut_partitions_do_not_count_once_there_are_some_of_cut_ones() -> None:
    cut = replace(FOUR, min_partitions=16)
    uncut = (
        Point(4, 1400, 0.1, 6.0, producer=FOUR.way),
        Point(4, 2800, 0.1, 12.0, producer=FOUR.way),
    )
    before = at_settings(uncut, cut, 12)
    after = at_settings(learn(uncut, Point(4, 1400, 0.1, 3.0, producer=cut.way)), cut, 12)
    assert before is not None
    assert after is not None
    assert before.duration_s(2800, 4) == pytest.approx(12.0, rel=0.1)
    assert after.duration_s(2800, 4) == pytest.approx(5.9, rel=0.1)

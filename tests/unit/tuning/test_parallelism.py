"""Executors where tasks run in waves: 13 partitions take two on 7 to 12 slots, and one on 13."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, policy

from trimtab.tuning.capacity.points import Point
from trimtab.tuning.context import Context
from trimtab.tuning.knobs import parallelism


def at(executors: int, load: float, *, carried: float, waves: bool = True) -> Context:
    """So many executors, and the records/s that they were seen to carry."""
    points = (Point(executors, 2000, 0.0, 2000 / carried, batches=5),)
    seen = {"partitions": 13, "executors_running": executors, "waves": waves}
    settings = replace(START, executors=executors, trigger_s=5.0, max_offsets=20_000)
    asked = policy(max_executors=13)
    return context(load=load, settings=settings, points=points, seen=seen, asked=asked)


@pytest.mark.parametrize(("executors", "left"), [(12, 7), (9, 7), (7, None), (6, 5)])
def test_executors_that_idle_in_the_last_wave_leave(executors: int, left: int | None) -> None:
    offer = parallelism.KNOB.release(at(executors, load=600.0, carried=1000.0))
    assert (offer.settings.executors if offer else None) == left


@pytest.mark.parametrize(("waves", "left"), [(True, None), (False, 8)])
def test_none_leaves_whose_wave_the_others_could_not_take(waves: bool, left: int | None) -> None:
    """At 13 the load is 0.44; 12 executors would take twice as long."""
    offer = parallelism.KNOB.release(at(13, load=440.0, carried=1000.0, waves=waves))
    assert (offer.settings.executors if offer else None) == left


@pytest.mark.parametrize(
    ("batches", "records", "left"), [(3, 2000, 3), (0, 2000, 9), (3, 400, 9)],
    ids=["shown", "only brought to a pace", "small batches"],
)  # fmt: skip
def test_a_release_goes_as_far_as_batches_have_shown_or_else_as_is_usual(
    batches: int, records: int, left: int
) -> None:
    """Four executors are said to carry 800 records/s, of which 1000 need 13. If no batch has shown
    it, the usual exponent of 0.9 lets four carry 346, and nine 718; if one has, it lets three carry
    617, of which the model says 600."""
    points = (
        Point(4, records, 0.0, records / 800, batches=batches),
        Point(13, 2000, 0.0, 2000 / 1000, batches=5),
    )
    seen = {"partitions": 26, "executors_running": 13}
    settings = replace(START, executors=13, trigger_s=5.0, max_offsets=20_000)
    asked = policy(max_executors=13)
    found = context(load=400.0, settings=settings, points=points, seen=seen, asked=asked)
    offer = parallelism.KNOB.release(found)
    assert offer is not None
    assert offer.settings.executors == left


def test_the_margin_is_not_worth_another_wave() -> None:
    """7 executors come within the bound of 0.8, if not by much, and the next that help are 13."""
    offer = parallelism.KNOB.raise_(at(5, load=660.0, carried=600.0))
    assert offer is not None
    assert offer.settings.executors == 7
    assert 0.7 < offer.predicted <= 0.8

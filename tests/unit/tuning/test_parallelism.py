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


def test_the_margin_is_not_worth_another_wave() -> None:
    """7 executors come within the bound of 0.8, if not by much, and the next that help are 13."""
    offer = parallelism.KNOB.raise_(at(5, load=660.0, carried=600.0))
    assert offer is not None
    assert offer.settings.executors == 7
    assert 0.7 < offer.predicted <= 0.8

"""A gap between two operators: what the new one knows may be older than what the old one wrote."""

from __future__ import annotations

import copy

import pytest
from tests.unit.reconcile.stage import PARENT, TUNING, Stage, series
from tests.unit.workloads.manifests import Json


def taken_over(known: str) -> Stage:
    """The first operator raised executors; the second still holds the object from before that.

    `known` is what it holds of the tuning document: the old one, the new one, or nothing.
    """
    stage = Stage()
    stage.running()
    before = copy.deepcopy(stage.cluster.objects)
    for batch in (6, 7):
        stage.overload(batch)
        stage.tick()
    assert stage.document()["generation"] == 2
    stage.start_operator()
    stage.loop.resync()
    world = stage.loop.cache
    world.resync("StreamPipeline", [before[PARENT]], world.moment())
    documents = {"old": [before[TUNING]], "new": [stage.cluster.objects[TUNING]], "none": []}
    world.resync("ConfigMap", documents[known], world.moment())
    stage.cluster.writes.clear()
    stage.cluster.events.clear()
    return stage


def snapshot(stage: Stage) -> tuple[Json, Json]:
    return copy.deepcopy(stage.status()), copy.deepcopy(stage.document())


@pytest.mark.parametrize("known", ["old", "new", "none"])
@pytest.mark.parametrize("load", ["overload", "calm", "unseen"])
def test_an_old_object_drops_the_decision_and_writes_no_document(known: str, load: str) -> None:
    stage = taken_over(known)
    written = snapshot(stage)
    if load == "unseen":
        stage.metrics.answers = {}
    elif load == "calm":
        stage.see(series("clicks", stage.clock.now_s))
    told = list(stage.telemetry.decisions)
    stage.loop.tick()
    assert snapshot(stage) == written
    assert not {("status", PARENT), ("apply", TUNING)} & set(stage.cluster.writes)
    assert (stage.cluster.events, stage.telemetry.decisions) == ([], told)


@pytest.mark.parametrize("known", ["old", "new", "none"])
def test_the_next_list_heals_it(known: str) -> None:
    stage = taken_over(known)
    stage.loop.tick()
    stage.overload(8)
    stage.tick()
    assert stage.document()["generation"] == stage.status()["controller"]["generation"] == 2
    assert stage.document()["settings"]["executors"] > 1

"""Source options: a person edits them, the tuning document carries them, no trial notices."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.unit.reconcile.stage import PARENT, POD, TUNING, Stage, series
from tests.unit.workloads.manifests import Json

from trimtab.errors import ConflictError
from trimtab.ports import Manifest


@pytest.fixture
def stage() -> Stage:
    return Stage.at_rest()


def source(document: Json) -> Any:
    return document["source"]["startingOffsets"], document["source"]["failOnDataLoss"]


def test_an_edit_is_a_new_generation_and_restarts_no_driver(stage: Stage) -> None:
    before, template = stage.document(), stage.get("StatefulSet", "clicks-driver")
    assert source(before) == ("earliest", True)
    stage.edit("source.kafka.failOnDataLoss", False)
    stage.tick()
    assert stage.cluster.writes == [("status", PARENT), ("apply", TUNING)]
    assert source(stage.document()) == ("earliest", False)
    assert stage.document()["generation"] == stage.status()["controller"]["generation"] == 2
    assert stage.document()["settings"] == before["settings"]
    assert stage.get("StatefulSet", "clicks-driver") == template
    assert (stage.cluster.events, stage.status()["decisions"]) == ([], [])
    assert stage.condition("Reconciling") == ("True", "ApplyingSettings")
    assert stage.condition("Ready")[0] == "True"
    for _ in range(3):
        stage.see(series("clicks", stage.clock.now_s + 10, settings_generation=2))
        stage.tick()
    assert stage.condition("Reconciling") == ("False", "Settled")
    assert stage.cluster.writes == []


def test_a_restarted_operator_goes_on_where_the_first_one_stopped(stage: Stage) -> None:
    apply = stage.cluster.apply

    def conflict(manifest: Manifest) -> Manifest:
        raise ConflictError("changed meanwhile")

    stage.edit("source.kafka.startingOffsets", "latest")
    stage.cluster.apply = conflict  # type: ignore[method-assign]
    stage.tick()
    assert stage.status()["controller"]["generation"] == 2
    assert stage.document()["generation"] == 1
    stage.cluster.apply = apply  # type: ignore[method-assign]
    for _ in range(2):
        stage.start_operator()
        stage.tick()
        assert stage.document()["generation"] == stage.status()["controller"]["generation"] == 2
        assert source(stage.document()) == ("latest", True)
    assert stage.cluster.writes == []


def test_no_driver_starts_before_the_document_holds_its_source_options(stage: Stage) -> None:
    apply = stage.cluster.apply

    def conflict(manifest: Manifest) -> Manifest:
        if manifest["metadata"]["name"] == "clicks-tuning":
            raise ConflictError("changed meanwhile")
        return apply(manifest)

    stage.edit("checkpoint.generation", 2)
    stage.edit("source.kafka.startingOffsets", "latest")
    stage.cluster.apply = conflict  # type: ignore[method-assign]
    stage.tick()
    assert stage.has("Pod", "clicks-driver-0")
    stage.cluster.apply = apply  # type: ignore[method-assign]
    stage.tick()
    assert source(stage.document()) == ("latest", True)
    assert not stage.has("Pod", "clicks-driver-0")


@pytest.mark.parametrize("status", ["lost", "without the options"])
def test_a_document_that_carries_them_already_is_taken_over(stage: Stage, status: str) -> None:
    stage.edit("source.kafka.failOnDataLoss", False)
    stage.tick()
    live = copy.deepcopy(stage.get("StreamPipeline", "clicks"))
    if status == "lost":
        del live["status"]
    else:
        del live["status"]["controller"]["source"]
    stage.cluster.put(live)
    stage.start_operator()
    stage.tick()
    generation = 3 if status == "lost" else 2
    assert stage.document()["generation"] == generation
    assert stage.status()["controller"]["generation"] == generation
    assert stage.status()["controller"]["source"]["failOnDataLoss"] is False
    assert source(stage.document()) == ("earliest", False)


def test_an_edit_of_the_document_is_put_back(stage: Stage) -> None:
    live, document = stage.get(*TUNING[::2]), stage.document()
    text = stage.get(*TUNING[::2])["data"]["settings.json"].replace("earliest", "latest")
    stage.cluster.put(live | {"data": {"settings.json": text}})
    stage.tick()
    assert stage.document() == document


def test_an_open_trial_goes_on(stage: Stage) -> None:
    for batch in (6, 7):
        stage.overload(batch)
        stage.tick()
    trial = stage.status()["controller"]["trial"]
    assert trial["generation"] == 2
    executors = stage.document()["settings"]["executors"]
    stage.edit("source.kafka.failOnDataLoss", False)
    stage.overload(8)
    stage.tick()
    controller = stage.status()["controller"]
    assert (controller["generation"], controller["trial"]) == (3, trial)
    applied = {
        "batch_executors_min": executors, "executors": executors, "settings_generation": 3,
        "batch_duration_seconds": 6.0,
    }  # fmt: skip
    # the batch that the restart interrupted runs again: it must not be judged
    stage.overload(9, **applied, batch_settings_generation=2, batch_replayed=1)
    stage.tick()
    assert stage.status()["controller"]["trial"] == trial
    for batch in range(10, 16):
        stage.overload(batch, **applied, batch_settings_generation=3, run_number=2)
        stage.tick()
    assert stage.status()["controller"].get("trial") != trial
    assert [d["reason"] for d in stage.status()["decisions"][:2]] == [
        "ExecutorsRaised", "TrialKept",
    ]  # fmt: skip


def test_a_driver_that_is_down_is_made_anew(stage: Stage) -> None:
    state = {"terminated": {"exitCode": 1, "message": '{"reason": "DataLost", "message": "m"}'}}
    stage.run_driver(containerStatuses=[{"image": "i", "state": state}])
    stage.tick()
    assert stage.condition("Stalled") == ("True", "DataLost")
    assert stage.cluster.writes == [("status", PARENT)]
    stage.edit("source.kafka.failOnDataLoss", False)
    stage.tick()
    assert stage.cluster.writes == [("status", PARENT), ("apply", TUNING), ("delete", POD)]

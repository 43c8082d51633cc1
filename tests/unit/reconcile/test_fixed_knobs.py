"""Knobs that no law moves: a person says them, the tuning document carries them to the driver."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from tests.unit.reconcile.stage import HISTORY, PARENT, TUNING, Stage, series

from trimtab.ports import Sample


@pytest.fixture
def stage() -> Stage:
    return Stage.at_rest()


def settings(stage: Stage) -> Any:
    return stage.document()["settings"]


def test_a_pipeline_that_says_nothing_has_the_document_it_had(stage: Stage) -> None:
    assert settings(stage) == {"executors": 1, "trigger": "10s", "maxOffsetsPerTrigger": 2500}
    assert "knobs" not in stage.status()["controller"]
    stage.start_operator()
    stage.tick()
    assert stage.cluster.writes == []


def test_an_edit_is_a_new_generation_that_the_driver_applies(stage: Stage) -> None:
    template = stage.get("StatefulSet", "clicks-driver")
    pinned = {"fetch": {"maxBytes": 4096}, "maxRecordsPerPartition": 500, "minPartitions": 24}
    stage.edit("tuning.pinned", pinned)
    stage.tick()
    assert stage.cluster.writes == [("status", PARENT), ("apply", TUNING), ("apply", HISTORY)]
    assert settings(stage) == pinned | {
        "executors": 1, "trigger": "10s", "maxOffsetsPerTrigger": 2500,
    }  # fmt: skip
    # one for the fixed knobs, one for the clamp of the others
    assert stage.document()["generation"] == stage.status()["controller"]["generation"] == 3
    assert stage.get("StatefulSet", "clicks-driver") == template
    for _ in range(2):
        stage.start_operator()
        stage.tick()
        assert stage.document()["generation"] == 3
    assert stage.cluster.writes == []
    stage.edit("tuning.pinned", None)
    stage.tick()
    assert settings(stage).keys() == {"executors", "trigger", "maxOffsetsPerTrigger"}
    assert stage.status()["decisions"][-1]["changes"] == ["minPartitions 24 -> unset"]


def test_what_is_said_no_more_is_gone_everywhere(stage: Stage) -> None:
    stage.edit("tuning.pinned", {"maxRecordsPerPartition": 500, "fetch": {"maxBytes": 4096}})
    stage.tick()
    stage.edit("tuning.pinned", {"fetch": {"maxBytes": 4096}})
    stage.tick()
    assert stage.document()["generation"] == 3
    assert "maxRecordsPerPartition" not in settings(stage)
    assert settings(stage)["fetch"] == {"maxBytes": 4096}
    assert stage.status()["controller"]["knobs"] == {"fetch": {"maxBytes": 4096}}
    stage.edit("tuning.pinned", None)
    stage.tick()
    assert settings(stage).keys() == {"executors", "trigger", "maxOffsetsPerTrigger"}
    assert "knobs" not in stage.status()["controller"]
    stage.tick()
    assert stage.cluster.writes == []


def test_a_limit_of_tasks_makes_splitting_a_knob(stage: Stage) -> None:
    stage.edit("limits.tasks", 24)
    stage.tick()
    assert settings(stage)["minPartitions"] == 1
    stage.edit("limits.tasks", None)
    stage.tick()
    assert "minPartitions" not in settings(stage)


def test_pinned_wins_over_initial(stage: Stage) -> None:
    stage.edit("tuning.initial", {"fetch": {"maxBytes": 4096, "maxPartitionBytes": 2048}})
    stage.edit("tuning.pinned", {"fetch": {"maxBytes": 8192}})
    stage.tick()
    assert settings(stage)["fetch"] == {"maxBytes": 8192, "maxPartitionBytes": 2048}


def test_the_producer_is_tuned_a_pin_clamps_it_and_leaves_its_value(stage: Stage) -> None:
    stage.edit("tuning.initial", {"producer": {"batchSize": 32768}})
    stage.tick()
    assert "producer" not in settings(stage), "the pipeline has begun"
    stage.edit("tuning.pinned", {"producer": {"lingerMs": 20, "compression": "zstd"}})
    stage.tick()
    assert settings(stage)["producer"] == {"lingerMs": 20, "compression": "zstd"}
    assert stage.status()["decisions"][-1]["changes"] == [
        "producer.lingerMs unset -> 20", "producer.compression unset -> zstd",
    ]  # fmt: skip
    stage.edit("tuning.pinned", None)
    stage.tick()
    assert settings(stage)["producer"] == {"lingerMs": 20, "compression": "zstd"}
    stage.start_operator()
    stage.tick()
    assert stage.cluster.writes == []


def test_a_lost_status_takes_the_document_over(stage: Stage) -> None:
    stage.edit("tuning.pinned", {"producer": {"lingerMs": 20}, "fetch": {"maxBytes": 4096}})
    stage.tick()
    live = copy.deepcopy(stage.get("StreamPipeline", "clicks"))
    del live["status"]
    stage.cluster.put(live)
    stage.start_operator()
    stage.tick()
    assert settings(stage)["producer"] == {"lingerMs": 20}
    assert stage.status()["controller"]["knobs"] == {"fetch": {"maxBytes": 4096}}


def effective(stage: Stage, **said: float) -> dict[str, Any]:
    driver = series("clicks", stage.clock.now_s + 10)
    labels = {k: v for k, v in driver["gauges"][0].labels.items() if k != "__name__"}
    for knob, value in said.items():
        own = {"__name__": "trimtab_effective_number", "knob": knob.replace("__", ".")}
        driver["gauges"].append(Sample(labels | own, value))
    return driver


def test_what_the_driver_says_is_in_force_is_shown_in_groups_and_words(stage: Stage) -> None:
    said = {"producer__compression": 4.0, "fetch__maxBytes": 4096.0, "locality__scope": 3.0}
    stage.see(effective(stage, **said))
    stage.tick()
    for _ in range(3):  # the status is written when something else is, or when it moved
        stage.see(effective(stage, **said))
        stage.tick()
    shown = json.loads(json.dumps(stage.status()["effective"]))
    assert {k: v for k, v in shown.items() if v} == {
        "producer": {"compression": "zstd"},
        "fetch": {"maxBytes": 4096},
        "locality": {"scope": "Any"},
    }


def test_a_driver_with_a_stage_of_calls_makes_their_limit_a_knob(stage: Stage) -> None:
    stage.see(effective(stage, maxInFlight=1.0))
    stage.tick()
    assert settings(stage)["maxInFlight"] == 1
    assert stage.document()["generation"] == 2
    stage.see(effective(stage, maxInFlight=1.0))
    stage.tick()
    assert stage.document()["generation"] == 2


def test_calls_and_scope_may_be_pinned(stage: Stage) -> None:
    stage.edit("tuning.pinned", {"maxInFlight": 8, "locality": {"scope": "Any"}})
    stage.tick()
    assert settings(stage)["maxInFlight"] == 8
    assert settings(stage)["locality"] == {"scope": "Any"}

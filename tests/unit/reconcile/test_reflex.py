"""The table of the driver's reflex: beside the tuning document, while the spec allows it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.reconcile.stage import PARENT, TUNING, Stage, series

from trimtab.api.contract import Reflex
from trimtab.tuning.reflex import LIFE_S

LIMITS = {"executors": {"min": 1, "max": 5}}
SHORT = {"pinned": {"trigger": "5s", "maxOffsetsPerTrigger": 100000}}


def table(stage: Stage) -> Reflex | None:
    text = stage.get("ConfigMap", "clicks-tuning")["data"].get("reflex.json")
    return Reflex.from_json(text) if text else None


def look(stage: Stage, batch: int = 3000, **values: Any) -> None:
    """A tick with another batch like those before."""
    usual = {"batch_records": 1000, "batch_duration_seconds": 4.1, "batch_executors_min": 1}
    now_s = stage.clock.now_s + 10
    stage.see(series("clicks", now_s, batch_id=batch, **(usual | values)))
    stage.tick()


def learned(**tuning: Any) -> Stage:
    """A pipeline whose first batches have been learned, with the reflex on."""
    made = Stage()
    made.put_pipeline("clicks", tuning=SHORT | {"reflex": True} | tuning, limits=LIMITS)
    made.running()
    for batch, records in enumerate((250, 1000) * 6):
        look(made, 2000 + batch, batch_records=records, batch_duration_seconds=records / 250 + 0.1)
    return made


@pytest.fixture
def stage() -> Stage:
    return learned()


def test_it_says_what_more_executors_carry_in_this_generation(stage: Stage) -> None:
    found = table(stage)
    assert found is not None
    assert [row.executors for row in found.steps] == [1, 2]
    assert (found.generation, found.pipeline_uid) == (stage.document()["generation"], "uid-clicks")
    assert stage.clock.now_s < found.expires_s <= stage.clock.now_s + LIFE_S


@pytest.mark.parametrize("said", [None, False])
def test_without_the_reflex_the_document_is_alone(said: bool | None) -> None:
    stage = learned(reflex=said)
    assert stage.get("ConfigMap", "clicks-tuning")["data"].keys() == {"settings.json"}


def test_batches_alike_and_quiet_ticks_write_nothing(stage: Stage) -> None:
    for batch in range(20):
        look(stage, 3000 + batch, batch_duration_seconds=4.1 + 0.05 * (batch % 3))
        assert ("apply", TUNING) not in stage.cluster.writes


def test_it_is_renewed_in_the_middle_of_its_life(stage: Stage) -> None:
    look(stage)
    before = table(stage)
    stage.clock.now_s += LIFE_S / 2
    look(stage, 3001)
    after = table(stage)
    assert before is not None
    assert after is not None
    assert after.expires_s >= before.expires_s + LIFE_S / 2
    assert ("apply", TUNING) in stage.cluster.writes


@pytest.mark.parametrize(
    ("path", "value"),
    [("tuning.reflex", False), ("tuning.mode", "Observe"), ("limits.executors.max", 1)],
)
def test_it_goes_when_the_spec_takes_it_back(stage: Stage, path: str, value: Any) -> None:
    stage.edit(path, value)
    look(stage)
    assert table(stage) is None


def test_it_stays_while_nothing_is_seen_and_the_driver_is_down(stage: Stage) -> None:
    before = table(stage)
    stage.metrics.failure = "Prometheus did not answer"
    stage.tick()
    assert table(stage) == before
    stage.run_driver(conditions=[])
    stage.tick()
    assert table(stage) == before


def test_it_is_put_back_when_somebody_edits_it(stage: Stage) -> None:
    before, live = table(stage), stage.get("ConfigMap", "clicks-tuning")
    forged = json.loads(live["data"]["reflex.json"]) | {"steps": [{"executors": 900, "rate": 1}]}
    data = live["data"] | {"reflex.json": json.dumps(forged)}
    stage.cluster.put(live | {"data": data})
    look(stage)
    found = table(stage)
    assert found is not None
    assert before is not None
    assert [step.executors for step in found.steps] == [step.executors for step in before.steps]
    assert found.steps[0].rate == pytest.approx(before.steps[0].rate, rel=0.01)


def test_a_raise_of_the_driver_is_written_as_the_operators_own(stage: Stage) -> None:
    generation = stage.document()["generation"]
    look(stage, reflex_executors=2, executors=1.0)
    assert stage.document()["settings"]["executors"] == 2
    assert stage.document()["generation"] == generation + 1
    assert stage.cluster.writes[:2] == [("status", PARENT), ("apply", TUNING)]
    assert stage.cluster.events[-1][0] == "RaisedByDriver"
    found = table(stage)
    assert found is None or found.generation == generation + 1

"""The history: each decision once, with its numbers, whatever dies or is taken away."""

from __future__ import annotations

import logging

import pytest
from tests.unit.reconcile.stage import HISTORY, NAMESPACE, Stage
from tests.unit.workloads.manifests import Json

from trimtab.api.history import HISTORY_KEY, MAX_BYTES, MAX_ENTRIES, Entry, packed, unpacked


def decided() -> Stage:
    """A pipeline whose executors were raised."""
    stage = Stage.at_rest()
    stage.rest()
    for batch in range(2000, 2010):
        stage.overload(batch)
        stage.tick()
        if "decisions" in stage.status() and stage.status()["decisions"]:
            return stage
    raise AssertionError("nothing was decided")


def kept(stage: Stage) -> tuple[Entry, ...]:
    live: Json = stage.cluster.objects[HISTORY]
    return unpacked(live["binaryData"][HISTORY_KEY])


def test_a_decision_is_kept_with_its_numbers() -> None:
    stage = decided()
    [entry] = kept(stage)
    told = stage.status()["decisions"][-1]
    assert (entry.time, entry.reason, entry.message) == (
        told["time"], told["reason"], told["message"],
    )  # fmt: skip
    assert entry.settings == stage_numbers(stage)
    assert entry.numbers is not None
    assert entry.numbers.input_rate == 280.0
    assert entry.numbers.load is not None
    assert entry.numbers.load > 1
    assert entry.numbers.bottleneck != "None"
    assert entry.goal.startswith("p95")
    assert entry.mode == "Auto"


def stage_numbers(stage: Stage) -> dict[str, float]:
    settings = stage.status()["controller"]["settings"]
    named = {
        "executors": "executors",
        "trigger_s": "trigger",
        "max_offsets": "maxOffsetsPerTrigger",
    }
    return {name: float(settings[field]) for field, name in named.items()}


def test_a_tick_without_a_decision_does_not_write_it() -> None:
    stage = decided()
    stage.tick()
    assert HISTORY not in [key for _, key in writes(stage)]


def writes(stage: Stage) -> list[tuple[str, tuple[str, str, str]]]:
    return [(each[0], each[1]) for each in stage.cluster.writes]


def test_what_the_status_has_and_the_history_has_not_is_added_without_numbers() -> None:
    """The operator ended between the two writes, or somebody deleted the history."""
    stage = decided()
    before = kept(stage)
    stage.cluster.delete(HISTORY)
    stage.tick()
    [entry] = kept(stage)
    assert entry.message == before[0].message
    assert entry.numbers is None
    assert entry.settings == {}


def test_a_spoilt_history_begins_anew() -> None:
    stage = decided()
    live = stage.cluster.objects[HISTORY]
    stage.cluster.put(live | {"data": {}, "binaryData": {HISTORY_KEY: "bm90IGd6aXA="}})
    stage.tick()
    assert len(kept(stage)) == 1


def test_each_decision_is_one_line_of_the_log_with_its_numbers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        stage = decided()
    [line] = [record for record in caplog.records if hasattr(record, "decision")]
    told: Json = line.decision
    assert (line.pipeline, line.namespace) == ("clicks", NAMESPACE)
    assert told["reason"] == stage.status()["decisions"][-1]["reason"]
    assert told["numbers"]["inputRate"] == 280.0


def test_somebody_elses_configmap_of_that_name_is_left_alone_and_told() -> None:
    stage = Stage.at_rest()
    theirs = {"name": "clicks-history", "namespace": NAMESPACE, "labels": {}}
    stage.cluster.put(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": theirs, "data": {"a": "b"}}
    )
    stage.rest()
    for batch in range(2000, 2004):
        stage.overload(batch)
        stage.tick()
    assert stage.cluster.objects[HISTORY]["data"] == {"a": "b"}
    assert stage.condition("Stalled") == ("True", "NameTaken")


def entry(number: int, message: str = "") -> Entry:
    time = f"2026-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    return Entry(time=time, action="Change", reason="ExecutorsRaised", message=message)


def test_the_oldest_go_first() -> None:
    entries = [entry(number) for number in range(MAX_ENTRIES + 7)]
    assert unpacked(packed(entries)) == tuple(entries[7:])


def test_it_never_grows_beyond_what_an_object_may_hold() -> None:
    import random

    noise = random.Random(1)
    entries = [
        entry(n, "".join(chr(noise.randrange(33, 500)) for _ in range(1024))) for n in range(400)
    ]
    text = packed(entries)
    assert len(text) <= MAX_BYTES * 4 / 3 + 4
    assert unpacked(text)[-1] == entries[-1]
    assert packed(entries) == text

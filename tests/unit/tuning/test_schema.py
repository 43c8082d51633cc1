"""`status.controller`: one type with a schema number; the form of the last release still reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trimtab.api.knobs import KnobValues
from trimtab.api.v1alpha1.status import JvmAdvice, JvmStatus, OversizeStatus, PartitionsAdvice
from trimtab.tuning.controller_state import SCHEMA, Advice, ControllerState
from trimtab.tuning.knobs import known_only
from trimtab.tuning.settings import Settings

FIRST = Path("tests/unit/tuning/released/controller-1.json")
"""As the first schema wrote it, with an open trial, a verdict and learned points."""


def first() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(FIRST.read_text())
    return told


def renamed(told: dict[str, Any]) -> dict[str, Any]:
    """The first form in the names of the second, with what it did not know."""
    text = (
        json.dumps(told).replace('"steady"', '"input_rate"').replace("max-pending", "max-in-flight")
    )
    now: dict[str, Any] = json.loads(text.replace('"last_steady"', '"last_input_rate"'))
    unknown = {"fastest_s": 0.0, "slowest_s": 0.0, "seen_s": 0.0}
    told = now | {"points": [point | unknown for point in now["points"]], "surprise": 0.0}
    told["trial"] |= {"missing_at_s": 0.0}
    if told["fastest"]:
        told["fastest"] |= {"seen_s": 0.0}
    return {name: value for name, value in told.items() if name != "doubt"}


def test_the_form_of_the_last_release_loses_nothing() -> None:
    told = first()
    memory = ControllerState.read(told)
    assert memory is not None
    kept = memory.to_dict()
    added = {"schema", "advice", "idle", "season", "forecasts", "recurrence", "quiet", "pause_s"}
    added |= {"slow_batch", "recommendation", "advice_record", "spent", "start_s", "unproven"}
    added |= {"surprise_alike"}
    assert {name: value for name, value in kept.items() if name not in added} == renamed(told)
    assert (kept["schema"], kept["advice"]) == (SCHEMA, {})
    assert memory.trial is not None
    assert memory.trial.knob == "parallelism"
    assert memory.verdicts[0].before == memory.settings


def test_knobs_of_a_newer_operator_are_forgotten() -> None:
    told = first()
    told["trial"]["knob"] = told["verdicts"][0]["knob"] = "of-tomorrow"
    memory = ControllerState.read(told)
    assert memory is not None
    kept = known_only(memory)
    assert kept.trial is None
    assert [verdict.knob for verdict in kept.verdicts] == ["max-in-flight"]
    assert kept.points == memory.points


def test_advice_comes_back_as_it_was_stored() -> None:
    advice = Advice(
        jvm=JvmStatus(driver=JvmAdvice(memory=1 << 30, collector="G1", reason="why")),
        partitions=PartitionsAdvice(partitions=12, reason="more"),
        oversize=OversizeStatus(batch=7, records=9000, limit=100, replays=2),
    )
    memory = ControllerState(
        3, Settings(2, 5.0, 100), knobs=KnobValues.of({"fetch.maxBytes": 65536.0}), advice=advice
    )
    assert ControllerState.read(json.loads(json.dumps(memory.to_dict()))) == memory


@pytest.mark.parametrize(
    "broken", [None, {}, {"generation": 1}, {"generation": 1, "settings": {"executors": 1}},
               first() | {"regime": "Nowhere"}, first() | {"advice": {"partitions": "many"}}],
)  # fmt: skip
def test_what_cannot_be_read_is_no_memory(broken: dict[str, Any] | None) -> None:
    assert ControllerState.read(broken) is None

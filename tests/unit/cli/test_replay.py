"""`trimtab replay`: a recorded load on the learned model, beside what was."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from tests.unit.cli.test_explain import MEMORY, pipeline

from trimtab.cli import main
from trimtab.cli.replay import Asked, replay
from trimtab.errors import BadInputError
from trimtab.simulation.recorded import Series, step_s
from trimtab.simulation.scenario import load_scenario
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.settings import Settings

BEGAN_S = 1_767_279_600.0
HOUR_S = 3600.0
STEP_S = step_s(2 * HOUR_S)

LEARNED = replace(
    MEMORY,
    settings=Settings(2, 5.0, 20_000),
    points=(Point(2, 500, 0.4, 2.4, batches=5), Point(2, 1500, 0.4, 6.4, batches=5)),
)  # fmt: skip
"""Two slots that work off 250 records/s."""


def manifest(**status: Any) -> dict[str, Any]:
    made = pipeline(LEARNED)
    made["status"] |= {"partitions": 12} | status
    made["spec"]["tuning"] = {}
    return made


def recorded(rate: float = 150.0, hours: float = 2.0) -> dict[str, Series]:
    times = [BEGAN_S + STEP_S * n for n in range(int(hours * HOUR_S / STEP_S))]
    half = times[len(times) // 2]
    return {
        "trimtab_partition_input_total": [(t, rate if t < half else 2 * rate) for t in times],
        "trimtab_executors": [(t, 4.0) for t in times],
        "trimtab_pipeline_condition": [(t, float(t < half)) for t in times],
    }


def answer(found: dict[str, Series], promql: str) -> Series:
    return next(series for name, series in found.items() if name in promql)


def asked(**more: Any) -> Asked:
    return Asked(**({"start_s": BEGAN_S, "end_s": BEGAN_S + 2 * HOUR_S, "policies": None,
                     "save": None} | more))  # fmt: skip


def told(text: str, row: str) -> list[str]:
    (line,) = (line for line in text.splitlines() if line.startswith(row))
    return re.split(r"\s{2,}", line)[1:]


def test_what_was_stands_beside_what_would_have_been() -> None:
    found = recorded()
    text = replay(manifest(), lambda promql: answer(found, promql), asked())
    assert text.startswith("2h from 2026-01-01T15:00:00Z, of which 100% is recorded; 0 policies")
    was, would = told(text, "goal held")
    assert was == "50.0%"
    assert float(would.rstrip("%")) > 95
    was, would = told(text, "executor-hours")
    assert was == "8.0"
    assert 0 < float(would) < 8


def test_policies_of_a_folder_apply(tmp_path: Path) -> None:
    policy = {
        "apiVersion": "trimtab.dev/v1alpha1", "kind": "TuningPolicy",
        "metadata": {"name": "still", "namespace": "n"}, "spec": {"mode": "Observe"},
    }  # fmt: skip
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
    found = recorded()
    text = replay(manifest(), lambda promql: answer(found, promql), asked(policies=tmp_path))
    assert "; 1 policies" in text
    assert told(text, "changes") == ["-", "0"]
    policy["spec"] = {"mode": "Auto", "windows": [{"start": "x", "duration": "1h"}]}
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
    with pytest.raises(BadInputError, match="TuningPolicy/still"):
        replay(manifest(), lambda promql: answer(found, promql), asked(policies=tmp_path))


def test_the_queries_ask_for_this_pipeline_alone() -> None:
    found, queries = recorded(), []

    def ask(promql: str) -> Series:
        queries.append(promql)
        return answer(found, promql)

    replay(manifest(), ask, asked())
    assert len(queries) == 3
    assert all('namespace="n",pipeline="clicks"' in each for each in queries)


def test_the_recorded_load_is_saved_as_a_scenario_that_runs(tmp_path: Path) -> None:
    found, file = recorded(), tmp_path / "recorded.yaml"
    replay(manifest(), lambda promql: answer(found, promql), asked(save=file))
    scenario = load_scenario(file)
    assert scenario.duration == 2 * HOUR_S
    assert scenario.load.step is not None
    assert scenario.load.step[-1][1] == 300.0
    assert scenario.plant.capacity[2] == pytest.approx(250, rel=0.05)


def test_gaps_are_told_and_the_load_stays_as_it_was() -> None:
    found = recorded()
    found = {name: series[: len(series) // 2] for name, series in found.items()}
    text = replay(manifest(), lambda promql: answer(found, promql), asked())
    assert "of which 50% is recorded" in text


def test_what_cannot_be_replayed_is_told() -> None:
    nothing: dict[str, Series] = {name: [] for name in recorded()}
    with pytest.raises(BadInputError, match="0 samples"):
        replay(manifest(), lambda promql: answer(nothing, promql), asked())
    new = pipeline(replace(LEARNED, points=()))
    new["status"]["partitions"] = 12
    found = recorded()
    with pytest.raises(BadInputError, match="learned nothing"):
        replay(new, lambda promql: answer(found, promql), asked())


def test_a_prometheus_that_does_not_answer_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(manifest()))
    done = CliRunner().invoke(
        main,
        ["replay", "-f", str(tmp_path / "p.yaml"), "--prometheus", "http://127.0.0.1:9"],
    )
    assert done.exit_code == 1
    assert "Prometheus at http://127.0.0.1:9 did not answer" in done.output
    done = CliRunner().invoke(
        main,
        ["replay", "-f", str(tmp_path / "p.yaml"), "--prometheus", "http://x", "--last", "30d"],
    )
    assert "at most 7d" in done.output

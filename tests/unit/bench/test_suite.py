"""One run as the suite does it, and what it is told to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from bench.book import Book
from bench.control import NAMES, OURS, play
from bench.grids import Variant
from bench.noises import NOISES
from bench.results import SHIPPED, Results
from bench.rises import rises
from bench.runs import WORKLOADS, Job, do, do_all
from bench.suite import SEEDS, TUNED_ON, TUNING_SEEDS, Plan, plan_of, score

from trimtab.errors import BadInputError
from trimtab.simulation.figures import figures
from trimtab.simulation.scenario import Scenario
from trimtab.simulation.verifiers import check
from unit.bench.test_control import SHORT

SCENARIO: dict[str, Any] = {**SHORT, "plant": {**SHORT["plant"], "metrics": {}}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "short.yaml"
    path.write_text(yaml.safe_dump(SCENARIO))
    return path


@pytest.mark.parametrize("name", [OURS, "ds2"])
def test_a_run_leaves_a_row_and_a_trace(file: Path, name: str) -> None:
    outcome = do(Job(file, Variant("me", name), 1, traced=True))
    assert outcome.error == ""
    assert outcome.row["label"] == "me"
    assert outcome.row["hours"] == 0.25
    least = outcome.row["core_hours"] / outcome.row["oracle_h1_core_hours"]
    late = 10 * outcome.row["slo_violation_s"] / 900
    changes = 0.001 * 4 * outcome.row["steps"]
    assert outcome.row["cost"] == pytest.approx(least + late + changes, abs=1e-3)
    assert outcome.trace is not None
    assert len(outcome.trace.at_s) == len(outcome.trace.executors) == 45
    assert outcome.trace.load[5:12] == [150] * 5 + [900] * 2


def test_a_run_that_breaks_says_why(file: Path, tmp_path: Path) -> None:
    assert "no controller 'nobody'" in do(Job(file, Variant("x", "nobody"), 1)).error
    assert "cannot read" in do(Job(tmp_path / "none.yaml", Variant(OURS, OURS), 1)).error


def test_a_rise_has_its_times_and_its_limits() -> None:
    run, _ = play(Scenario.model_validate(SCENARIO), OURS, 1)
    (rise,) = rises(run, figures(run, check))
    assert (rise.at_s, rise.known) == (200, False)
    assert rise.detect_limit_s == 25
    assert rise.rounds >= 1
    assert rise.settle_limit_s == rise.detect_s + 5 + (rise.rounds - 1) * 50


def test_a_load_that_was_carried_before_is_known() -> None:
    load = {"step": [[0, 150], [200, 900], [500, 150], [700, 920]]}
    run, _ = play(Scenario.model_validate({**SCENARIO, "load": load}), OURS, 1)
    first, second = rises(run, figures(run, check))
    assert (first.known, second.known) == (False, True)
    assert second.settle_limit_s == 40


def test_the_limit_of_records_is_pinned_but_for_whom_it_is_the_law() -> None:
    pinned = {**SCENARIO, "tuning": {"pinned": {"trigger": 5, "maxOffsetsPerTrigger": 20000}}}
    moved = {
        name: {t.after.settings.max_offsets for t in run.ticks}
        for name in NAMES
        for run, _ in [play(Scenario.model_validate(pinned), name, 1)]
    }
    assert {n for n, limits in moved.items() if limits != {20000}} == {
        "spark-pid", "oracle", "static-peak",
    }  # fmt: skip


def test_a_plan_takes_names_and_files(file: Path) -> None:
    whole = plan_of()
    assert len(whole.paths) == 22
    assert (whole.names, whole.seeds) == (NAMES, SEEDS)
    assert not set(SEEDS) & set(TUNING_SEEDS)
    assert set(TUNED_ON) < set(whole.paths)
    assert plan_of(only="step,gap").paths == (WORKLOADS / "step.yaml", WORKLOADS / "gap.yaml")
    assert plan_of(files=[file], controllers="keda").paths == (file,)
    assert plan_of(quick=True).budget < whole.budget


@pytest.mark.parametrize("words", [{"only": "nothing"}, {"controllers": "nobody"}])
def test_a_plan_of_nothing_is_refused(words: dict[str, str]) -> None:
    with pytest.raises(BadInputError, match="there are"):
        plan_of(**words)


def test_a_noise_changes_the_batches_of_a_run(file: Path) -> None:
    rows = [do(Job(file, Variant("me", OURS), 1, noise)).row for noise in NOISES]
    assert [row["noise"] for row in rows] == ["white", "rough"]
    assert rows[0]["lag_area"] != rows[1]["lag_area"]


def test_what_ships_has_rows_of_its_own_beside_the_grid_of_the_front(file: Path) -> None:
    results = Results({})
    plan = Plan((file,), (OURS,), seeds=(1,), budget=2, workers=1)
    score(plan, {OURS: Variant(OURS, OURS)}, results)
    assert not results.errors
    ships = OURS + SHIPPED
    others = [
        f"{ships}, {other}" for other in ("profile latency", "profile cost", "from Prometheus")
    ]
    assert results.labels == [OURS, ships, *others]
    assert len({row["label"] for row in results.fronts[OURS]}) == 2


def test_a_suite_that_was_ended_goes_on_where_it_was(file: Path, tmp_path: Path) -> None:
    book, said = Book(tmp_path / "kept" / "book.jsonl"), []
    one, other = (Job(file, Variant("me", OURS), seed, traced=seed == 1) for seed in (1, 2))
    first = do_all([one], 1, said.append, "a", book)
    with (tmp_path / "kept" / "book.jsonl").open("a") as cut_off:
        cut_off.write('["never')
    moved = replace(one, path=tmp_path / "elsewhere" / file.name)
    again = do_all([moved, other], 1, said.append, "b", book)
    assert said[-1].startswith("b: 1/1 runs"), "only what was not done"
    assert (again[0].row, again[0].trace) == (first[0].row, first[0].trace)
    assert [outcome.job for outcome in again] == [moved, other]
    assert len(book.read()) == 2

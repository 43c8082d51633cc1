"""The simulator against the driver: what can be checked without a cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.simreal.__main__ import main
from bench.simreal.campaign import read, write
from bench.simreal.fit import Fitted, fit, scenario, waves
from bench.simreal.predict import compare, medians, rest, simulated
from bench.simreal.seen import Batch, Measured, from_prometheus, rate
from bench.simreal.settings import CAMPAIGN, Setting
from bench.simreal.tables import errors, summary, windows
from click.testing import CliRunner

from trimtab.simulation.batch_time import batch_phases
from trimtab.simulation.plant_model import Change
from trimtab.simulation.run import simulate
from trimtab.simulation.scenario import load_scenario

TRUTH = Fitted(0.4, 0.2, {1: 120.0, 5: 550.0}, 0.0)
BY_NAME = {s.name: s for s in CAMPAIGN}


def made(
    setting: Setting, truth: Fitted = TRUTH, lag: float = 50_000, batches: int = 20
) -> Measured:
    """What the campaign would see of a plant with these parameters."""
    empty = Measured(setting, (), lag, 0.0)
    return Measured(setting, tuple(simulated(truth, empty)[:batches]), lag, 0.0)


def test_four_settings_are_fitted_and_eight_predicted() -> None:
    fitted = [s for s in CAMPAIGN if s.fitted]
    assert (len(fitted), len(CAMPAIGN)) == (4, 12)
    assert {(s.executors, s.saturated) for s in fitted} == {
        (1, False), (1, True), (5, False), (5, True),
    }  # fmt: skip
    assert len(BY_NAME) == 12


def test_the_fit_recovers_the_parameters_of_a_plant() -> None:
    found = fit([made(s) for s in CAMPAIGN if s.fitted])
    assert found.fixed_s == pytest.approx(TRUTH.fixed_s, abs=0.01)
    assert found.per_task_s == pytest.approx(TRUTH.per_task_s, abs=0.002)
    assert found.capacity == pytest.approx(TRUTH.capacity, rel=0.005)
    assert found.noise == pytest.approx(0, abs=0.001)


def test_the_fit_withstands_noise_and_tells_how_much_there_was() -> None:
    noisy = Fitted(0.4, 0.2, {1: 120.0, 5: 550.0}, 0.05)
    found = fit([made(s, noisy) for s in CAMPAIGN if s.fitted])
    assert found.noise == pytest.approx(0.05, rel=0.4)
    assert found.capacity == pytest.approx(TRUTH.capacity, rel=0.1)


def test_the_fit_tells_how_long_noise_lasts() -> None:
    lasting = Fitted(0.4, 0.2, {1: 120.0, 5: 550.0}, 0.1, noise_memory=0.9)
    fleeting = replace(lasting, noise_memory=0.0)
    memories = [
        fit([made(s, truth, batches=200) for s in CAMPAIGN if s.fitted]).noise_memory
        for truth in (lasting, fleeting)
    ]
    assert memories[0] > 0.7
    assert memories[1] < 0.2


def test_restarts_have_a_mean_and_a_spread() -> None:
    seen = [made(s) for s in CAMPAIGN if s.fitted]
    found = fit(seen, [1.0, 2.0, 3.0])
    assert (found.restart_s, found.restart_noise) == (2.0, 0.5)
    change = scenario(found, BY_NAME["p1-idle"], 60).plant.change
    assert (change.query_restart_s, change.restart_noise) == (2.0, 0.5)
    assert scenario(fit(seen), BY_NAME["p1-idle"], 60).plant.change == Change()


def test_a_cost_is_never_below_zero() -> None:
    setting = Setting("odd", 1, 5, 1000, 10, False, fitted=True)
    rows = [Batch(i, 10.0 * i, n, d, 1, 1, 0) for i, (n, d) in enumerate([(100, 0.8), (1000, 10)])]
    found = fit([Measured(setting, tuple(rows), 0, 0)])
    assert (found.fixed_s, found.per_task_s) == (0, 0)


def test_settings_that_tell_nothing_apart_are_refused() -> None:
    setting = Setting("none", 1, 5, 1000, 10, False)
    batch = Batch(0, 0.0, 0, 5.0, 1, 1, 0)
    with pytest.raises(ValueError, match="no capacity"):
        fit([Measured(setting, (batch,), 0, 0)])


@pytest.mark.parametrize(("executors", "factor"), [(1, 1.0), (4, 1.0), (5, 1.25)])
def test_the_fit_counts_waves_as_the_plant_does(executors: int, factor: float) -> None:
    assert waves(executors) == pytest.approx(factor)
    setting = Setting("x", executors, 5, 1000, 10, False)
    planned = scenario(TRUTH, setting, 60)
    spent = batch_phases(planned, planned.settings(), 1000, executors)
    cap = {1: 120.0, 4: 442.5, 5: 550.0}[executors]
    assert spent.work == pytest.approx(1000 / cap * factor)


def test_a_plant_predicts_itself() -> None:
    comparisons = [compare(TRUTH, made(s)) for s in CAMPAIGN if not s.fitted]
    found = medians(comparisons)
    assert found.rate == pytest.approx(0, abs=0.02)
    assert found.p95 == pytest.approx(0, abs=0.02)
    assert found.met
    assert "met" in summary(found)
    lines = errors(comparisons).splitlines()
    assert len(lines) == 10
    assert len({line.count("|") for line in lines}) == 1
    assert sum("grows" in line for line in lines) == 4


def test_a_window_shows_its_spread() -> None:
    batches = (Batch(0, 0.0, 90, 2.0, 4, 1, 90), Batch(1, 5.0, 110, 4.0, 5, 1, 200))
    seen = Measured(BY_NAME["p1-idle"], batches, 0, 1.5)
    assert windows([seen]).splitlines()[-1] == "| p1-idle | 2 | 100 | 3.00 | 1.41 | 1.5 |"


def test_errors_have_their_sign_and_medians_their_size() -> None:
    steady = made(BY_NAME["p2-busy"])
    slow = Fitted(0.4, 0.2, {1: 60.0, 5: 275.0}, 0.0)
    assert (compare(slow, steady).p95_error or 0) > 0.05
    full = compare(slow, made(BY_NAME["p2-full"]))
    assert full.rate_error < -0.4
    assert full.p95_error is None
    found = medians([full])
    assert found.rate == found.rate_saturated == -full.rate_error
    assert found.p95 is None
    assert not found.met
    assert "NOT met" in summary(found)


def test_the_controller_never_moves() -> None:
    run = simulate(scenario(TRUTH, BY_NAME["p1-short"], 300), 1, controller=rest)
    assert run.changes == []


def series(name: str, values: list[tuple[float, float]], **labels: str) -> dict[str, Any]:
    return {"metric": {"__name__": f"trimtab_{name}", **labels},
            "values": [[at, str(value)] for at, value in values]}  # fmt: skip


def test_a_batch_is_read_once_however_often_it_was_scraped() -> None:
    result = [
        series("batch_id", [(1, 7), (6, 7), (11, 9)]),
        series("batch_committed_timestamp_seconds", [(1, 0.5), (6, 0.5), (11, 10.5)]),
        series("batch_records", [(1, 100), (6, 100), (11, 80)]),
        series("batch_duration_seconds", [(1, 2.5), (6, 2.5), (11, 2)], phase="total"),
        series("batch_duration_seconds", [(1, 9), (6, 9), (11, 9)], phase="planning"),
        series("batch_record_latency_seconds", [(1, 4), (6, 4), (11, 3)], quantile="0.95"),
        series("batch_record_latency_seconds", [(1, 1), (6, 1), (11, 1)], quantile="0.5"),
        series("batch_executors_min", [(1, 2), (6, 2), (11, 2)]),
        series("records_total", [(1, 1000), (6, 1000), (11, 1200)]),
        series("lag_records", [(1, 5)]),
    ]
    batches = from_prometheus(result)
    assert batches == [Batch(7, 0.5, 100, 2.5, 4, 2, 1000), Batch(9, 10.5, 80, 2, 3, 2, 1200)]
    assert rate(batches) == pytest.approx(20), "the batch that no scrape saw counts"


def test_a_scrape_that_lacks_a_metric_is_no_batch() -> None:
    assert from_prometheus([series("batch_id", [(1, 7)])]) == []


def test_measurements_survive_their_file(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    assert read(path) == []
    first, second = (made(s) for s in CAMPAIGN[:2])
    seen = [replace(first, restart_s=1.25), second]
    write(path, seen, "abc1234")
    again = read(path)
    assert [m.setting for m in again] == [m.setting for m in seen]
    assert [m.rate for m in again] == pytest.approx([m.rate for m in seen], rel=0.001)
    assert json.loads(path.read_text())["commit"] == "abc1234"


def test_the_report_writes_tables_scenario_and_pictures(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    write(path, [made(s) for s in CAMPAIGN], "abc1234")
    repeated = tmp_path / "again.json"
    write(repeated, [made(BY_NAME["p4-busy"])], "abc1234")
    options = {"--data": path, "--out": tmp_path, "--again": repeated}
    given = [str(word) for option in options.items() for word in option]
    done = CliRunner().invoke(main, ["report", *given])
    assert done.exit_code == 0, done.output
    assert "target 15%" in done.output
    assert done.output.count("| p4-busy |") == 4
    names = ("scatter.png", "overlay.png", "fitted.yaml")
    assert all((tmp_path / name).stat().st_size > 100 for name in names)
    assert load_scenario(tmp_path / "fitted.yaml").plant.waves

"""The shapes of load, their integral, and what a load file must be."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from simulation.plants import BASE, scenario
from trimtab.errors import BadInputError
from trimtab.simulation.arrivals import Arrivals, arrivals
from trimtab.simulation.scenario import load_scenario
from trimtab.simulation.shapes import Load


def flow(seed: int = 1, duration: float = 100, **load: Any) -> Arrivals:
    return arrivals(scenario(load=load, duration=duration), seed)


def test_cosine() -> None:
    one = flow(cosine={"mean": 100, "amplitude": 150, "period_s": 60})
    assert one.rate(0) == pytest.approx(250, rel=0.01)
    assert one.rate(30) == 0
    assert one.rate(15.2) == pytest.approx(100 + 150 * math.cos(2 * math.pi * 15.5 / 60))


def test_ramp_is_flat_outside() -> None:
    one = flow(ramp={"start_s": 20, "end_s": 60, "low": 10, "high": 50})
    assert [one.rate(t) for t in (0, 40, 80)] == [10, 30.5, 50]


def test_spikes() -> None:
    one = flow(spikes={"base": 10, "peak": 90, "every_s": 30, "width_s": 5})
    assert [t for t in range(60) if one.rate(t) == 90] == [*range(5), *range(30, 35)]


def test_diurnal_is_low_at_night_and_high_at_noon() -> None:
    one = flow(diurnal={"low": 10, "high": 50, "period_s": 100})
    assert one.rate(0) == pytest.approx(10, abs=0.1)
    assert one.rate(50) == pytest.approx(50, abs=0.1)
    assert one.total(100) == pytest.approx(30 * 100)


def test_walk_stays_in_its_bounds_and_follows_its_seed() -> None:
    walk = {"start": 50, "step": 40, "low": 20, "high": 80, "every_s": 10}
    one, again, other = flow(1, walk=walk), flow(1, walk=walk), flow(2, walk=walk)
    rates = [rate for _, rate in one.steps]
    assert len(rates) == 10
    assert rates == [rate for _, rate in again.steps] != [rate for _, rate in other.steps]
    assert min(rates) >= 20
    assert max(rates) <= 80


def test_a_drift_leans_to_the_longer_side() -> None:
    drift = {"start": 0, "fall": 10, "rise": 30, "low": 0, "high": 5000, "every_s": 1}
    one, other = flow(1, duration=100, drift=drift), flow(2, duration=100, drift=drift)
    rates = [rate for _, rate in one.steps]
    assert all(-10 <= after - before <= 30 for before, after in itertools.pairwise(rates))
    assert 500 < rates[-1] < 1500
    assert rates != [rate for _, rate in other.steps]


def test_bursts_rise_from_the_base_and_end() -> None:
    one = flow(duration=6000, bursts={"base": 100, "low": 50, "high": 80, "chance": 0.5})
    times, rates = zip(*one.steps, strict=True)
    assert set(rates[::2]) == {100}
    assert all(150 <= rate <= 180 for rate in rates[1::2])
    widths = [end - start for start, end in zip(times[1::2], times[2::2], strict=True)]
    assert len(widths) > 10
    assert all(60 <= width <= 180 for width in widths)


def test_noise_is_drawn_each_second_and_leaves_the_steps_where_they_are() -> None:
    one = flow(duration=2000, step=[[0, 100], [60.5, 300]], noise=0.05)
    assert one.rate(60.4) < 150
    assert one.rate(60.5) > 250
    assert one.plain_rate(60.4) == 100
    assert one.plain_rate(60.5) == 300
    factors = [one.rate(t) / 300 for t in range(61, 2000)]
    mean = sum(factors) / len(factors)
    spread = math.sqrt(sum((f - mean) ** 2 for f in factors) / len(factors))
    assert mean == pytest.approx(1, abs=0.005)
    assert spread == pytest.approx(0.05, rel=0.1)


def test_time_of_is_the_inverse_of_total() -> None:
    one = arrivals(scenario(load={"step": [[0, 10], [20, 0], [50, 40]]}, start={"backlog": 7}), 1)
    assert one.time_of(5) == 0
    for at_s in (3.0, 12.5, 50.5, 99.0):
        assert one.time_of(one.total(at_s)) == pytest.approx(at_s)


def test_a_load_file_lies_beside_its_scenario(tmp_path: Path) -> None:
    (tmp_path / "day.csv").write_text("seconds,records_per_second\n0,10\n30,20.5\n")
    (tmp_path / "day.yaml").write_text(yaml.safe_dump(BASE | {"load": {"csv": "day.csv"}}))
    one = arrivals(load_scenario(tmp_path / "day.yaml"), 1)
    assert one.steps == [(0, 10), (30, 20.5)]


@pytest.mark.parametrize("rows", ["", "5,10\n", "0,10\n0,20\n", "0,-1\n", "0,x\n"])
def test_a_load_file_that_is_none_is_told(tmp_path: Path, rows: str) -> None:
    (tmp_path / "bad.csv").write_text(f"seconds,records_per_second\n{rows}")
    with pytest.raises(BadInputError, match="header seconds,records_per_second"):
        flow(csv=str(tmp_path / "bad.csv"))


@pytest.mark.parametrize(
    "load",
    [{}, {"step": []}, {"step": [[5, 1]]}, {"step": [[0, 1], [0, 2]]},
     {"step": [[0, 1]], "csv": "x"}],
)  # fmt: skip
def test_a_load_is_exactly_one_shape(load: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Load.model_validate(load)


def test_only_a_load_that_changes_needs_warming_up() -> None:
    stepped = {"step": [[0, 1], [10, 2]]}
    assert scenario().warmup_s == 0
    assert scenario(load=stepped).warmup_s == 300
    assert scenario(load=stepped, warmup_s=20).warmup_s == 20

"""What a controller sees of the plant, and when it sees nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from simulation.plants import plant, scenario
from trimtab.simulation.events import Kind
from trimtab.simulation.observer import Observer
from trimtab.simulation.plant_model import SHIPPED_DIRECT_S
from trimtab.simulation.scenario import as_shipped
from trimtab.tuning.snapshot import Signals


def watch(until_s: float, **changes: Any) -> Observer:
    case = scenario(**changes)
    running = plant(case)
    observer = Observer(running, case.name, 1, 0.95)
    while running.now_s < until_s and (event := running.advance()):
        if event.kind is Kind.SCRAPE:
            observer.scrape()
    return observer


def seen(observer: Observer, now_s: float) -> Signals:
    signals = observer.signals(now_s)
    assert signals is not None
    return signals


def test_the_newest_sample_that_is_old_enough_is_seen() -> None:
    observer = watch(50, plant={"metrics": {"scrape_s": 5, "delay_s": 7}})
    assert seen(observer, 50).sampled_at_s == 40
    assert observer.signals(11.9) is None


def test_nothing_is_scraped_in_a_gap_and_what_is_too_old_is_not_trusted() -> None:
    observer = watch(50, plant={"metrics": {"scrape_s": 5, "gaps": [[12, 41]]}})
    assert seen(observer, 25).sampled_at_s == 10
    assert observer.signals(26) is None
    assert observer.signals(44) is None
    assert seen(observer, 45).sampled_at_s == 45


def test_a_driver_that_is_away_answers_no_scrape() -> None:
    observer = watch(50, faults=[{"at": 11, "kind": "driver_lost", "back_after_s": 20}])
    assert [s.at_s for s in observer.samples] == [5, 10, 35, 40, 45, 50]


def test_rates_lag_and_the_last_batch() -> None:
    """100/s, batches of 200 from 2 on, 1.5 s each; at 15 the batch of 14 runs."""
    signals = seen(watch(15), 15)
    assert signals.input_rate == signals.input_rate_long == pytest.approx(100)
    assert signals.lag_records == pytest.approx(1500 - 1200)
    assert signals.lag_s == pytest.approx(3)
    assert (signals.running_s, signals.running_records) == (pytest.approx(1), 200)
    batch = signals.batch
    assert batch is not None
    assert (batch.id, batch.records, batch.since_start) == (5, 200, 6)
    assert batch.latency_s == pytest.approx(1.5 + 0.95 * 2)
    assert signals.slots_busy == pytest.approx((1.5 + 1.5 + 1) / 5)


def test_the_overhead_is_what_does_not_touch_records() -> None:
    batch = {"fixed_s": 0.2, "planning_s": 0.1, "per_task_s": 0.05}
    plants = {"batch": batch, "state": {"commit_s": 0.05, "per_record_s": 0.0005}}
    last = seen(watch(15, plant=plants), 15).batch
    assert last is not None
    assert last.overhead_s == pytest.approx(0.2 + 0.1 + 0.05 + 0.1)


def test_what_computes_what_waits_and_what_collects_garbage() -> None:
    assert seen(watch(15, plant={"cpu_share": 0.3}), 15).cpu_ratio == 0.3
    waits = {"cpu_share": 0.3, "remote": {"latency_s": 0.01}}
    assert seen(watch(15, plant=waits), 15).cpu_ratio == 0
    memory = {"bytes_per_record": 1000, "heap_bytes": 200_000, "gc_knee": 0.5}
    assert seen(watch(15, plant={"memory": memory}), 15).gc_ratio == pytest.approx(2 / 3)


def test_noise_is_on_what_is_seen_and_not_on_what_is() -> None:
    observer = watch(50, plant={"metrics": {"noise": 0.05}})
    rates = [s.signals.input_rate for s in observer.samples[1:]]
    assert len(set(rates)) == len(rates)
    assert rates == pytest.approx([100] * len(rates), rel=0.25)
    assert observer.plant.batches[3].duration_s == pytest.approx(1.5)


def test_a_direct_read_is_as_new_as_the_tick_but_for_the_rate_of_a_minute() -> None:
    metrics = {"scrape_s": 5, "delay_s": 4, "direct_s": 2}
    observer = watch(14, plant={"metrics": metrics}, load={"step": [[0, 100], [12, 300]]})
    scraped, read = observer.samples[-1].signals, seen(observer, 14)
    assert (scraped.sampled_at_s, read.sampled_at_s) == (10, 14)
    assert read.lag_records == pytest.approx(1800 - observer.plant.committed)
    assert read.input_rate_long == pytest.approx(100)
    assert read.input_rate is None, "there is no read before"


def test_a_direct_read_counts_what_came_since_the_last_one() -> None:
    metrics = {"scrape_s": 5, "delay_s": 5, "direct_s": 2}
    case = scenario(plant={"metrics": metrics}, load={"step": [[0, 100], [12, 300]]})
    running = plant(case)
    observer, rates = Observer(running, case.name, 1, 0.95), {}
    while running.now_s < 16 and (event := running.advance()):
        if event.kind is Kind.SCRAPE:
            observer.scrape()
        elif signals := observer.signals(event.at_s):
            rates[event.at_s] = signals.input_rate
    assert rates == {
        10: None,
        12: pytest.approx(100),
        14: pytest.approx(300),
        16: pytest.approx(300),
    }


def test_without_a_scrape_a_direct_read_is_not_believed() -> None:
    observer = watch(40, plant={"metrics": {"direct_s": 2, "gaps": [[12, 41]]}})
    assert observer.signals(40) is None


def test_a_driver_that_is_away_cannot_be_read() -> None:
    lost = [{"at": 11, "kind": "driver_lost", "back_after_s": 20}]
    observer = watch(14, plant={"metrics": {"direct_s": 2}}, faults=lost)
    assert seen(observer, 14).sampled_at_s == 10


def test_a_scenario_that_says_nothing_is_read_as_the_chart_has_it() -> None:
    shipped = yaml.safe_load(
        (Path(__file__).parents[2] / "charts/trimtab/values.yaml").read_text()
    )["operator"]
    reads = shipped["directReads"]
    assert (reads["enabled"], reads["tickSeconds"]) == (True, SHIPPED_DIRECT_S)
    for said, expected in (
        ({}, SHIPPED_DIRECT_S),
        ({"direct_s": None}, None),
        ({"direct_s": 5}, 5),
    ):
        assert as_shipped(scenario(plant={"metrics": said})).plant.metrics.direct_s == expected

"""What the Flink engine is shown of a pipeline, with an engine that only writes it down."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.peers.controller import Limits
from bench.peers.flink_engine import Flink, Parameters, Records, under_way
from bench.peers.flink_jvm import Seen, class_path
from tests.unit.bench.seen import batch, settings, signals

from trimtab.tuning.snapshot import Signals


class Paper:
    """Wants what it is told to, and keeps what it saw."""

    def __init__(self, wanted: int = 2) -> None:
        self.wanted, self.seen = wanted, list[Seen]()
        self.options: dict[str, str] = {}

    def begin(self, options: dict[str, str]) -> int:
        self.options = options
        return 7

    def scale(self, job: int, seen: Seen) -> int:
        assert job == 7
        self.seen.append(seen)
        return self.wanted


def at(now_s: float, **known: Any) -> Signals:
    usual = {"input_rate": 100.0, "lag_records": 50.0, "slots_busy": 0.5, "executors_running": 2}
    return signals(now_s, **(usual | known))


def flink(paper: Paper, **changes: Any) -> Flink:
    return Flink(Limits(1, 8), Parameters(**changes), paper)


def test_the_autoscaler_comes_before_the_flink_whose_classes_it_renews(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    for name in ("ecj-3.jar", "flink-runtime-1.jar", "flink-autoscaler-1.jar"):
        (tmp_path / "jars" / name).touch()
    names = [part.name for part in class_path(tmp_path)]
    assert names == ["classes", "flink-autoscaler-1.jar", "ecj-3.jar", "flink-runtime-1.jar"]


def test_the_options_are_flinks_own() -> None:
    paper = Paper()
    flink(paper, metrics_window_s=0.5, scale_down_max_factor=1)
    job = {name.removeprefix("job.autoscaler."): text for name, text in paper.options.items()}
    assert job == {
        "enabled": "true", "metrics.window": "500 ms", "stabilization.interval": "300000 ms",
        "scale-down.interval": "3600000 ms", "target.utilization": "0.7",
        "target.utilization.boundary": "0.3", "catch-up.duration": "1800000 ms",
        "restart.time": "300000 ms", "scale-up.max-factor": "100000", "scale-down.max-factor": "1",
        "backlog-processing.lag-threshold": "300000 ms", "vertex.min-parallelism": "1",
        "vertex.max-parallelism": "8",
    }  # fmt: skip


def test_a_steady_pipeline_is_a_steady_vertex() -> None:
    """100/s arrive and are done; the gauges need two scrapes."""
    paper = Paper()
    peer = flink(paper)
    for now_s in (10, 20, 30):
        assert peer.decide(now_s, at(now_s), settings(2)) == settings(2)
    assert paper.seen == [
        Seen(20_000, 0, 2, 8, 12, 1000, 100, 500, 50),
        Seen(30_000, 0, 2, 8, 12, 2000, 100, 500, 50),
    ]


def test_gauges_average_over_their_span_and_partitions_may_be_hidden() -> None:
    paper = Paper()
    peer = flink(paper, gauge_span_s=20, partitions_known=False)
    for now_s, rate, busy in ((10, 0, 0), (20, 10, 0.2), (30, 20, 0.4), (40, 30, 0.8)):
        peer.decide(now_s, at(now_s, input_rate=rate, slots_busy=busy), settings(2))
    last = paper.seen[-1]
    assert (last.records_in_per_s, last.busy_ms_per_s) == (25, pytest.approx(600))
    assert last.partitions == 0


def test_what_a_running_batch_has_done_is_not_pending() -> None:
    """The last did 250/s on two executors; 4 s of the one under way on four are 2000 of 3000."""
    last = batch(records=1000, duration_s=4, executors=2)
    seen = at(10, batch=last, running_s=4, running_records=3000, executors_running=4)
    assert under_way(seen) == 2000
    assert under_way(replace(seen, running_s=9)) == 3000
    assert under_way(replace(seen, batch=None)) == 0
    assert under_way(replace(seen, batch=replace(last, executors_min=0))) == 0


def test_done_and_pending_are_what_arrived_and_done_never_falls() -> None:
    records = Records()
    records.add(at(10, lag_records=400, input_rate=None))
    assert (records.done, records.pending) == (0, 400)
    records.add(at(20, lag_records=900))
    assert (records.done, records.pending) == (500, 900)
    records.add(at(30, lag_records=2000))
    assert (records.done, records.pending) == (500, 2000)


def test_a_change_is_a_restart_until_the_executors_run() -> None:
    paper = Paper(wanted=4)
    peer = flink(paper)
    peer.decide(10, at(10), settings(2))
    assert peer.decide(20, at(20), settings(2)).executors == 4
    peer.decide(30, at(30, executors_running=2), settings(4))
    for now_s in (40, 50):
        peer.decide(now_s, at(now_s, executors_running=4), settings(4))
    assert [seen.now_ms for seen in paper.seen] == [20_000, 50_000]
    assert (paper.seen[-1].running_since_ms, paper.seen[-1].parallelism) == (40_000, 4)


def test_executors_that_come_within_a_tick_are_a_restart_too() -> None:
    paper = Paper(wanted=4)
    peer = flink(paper)
    peer.decide(10, at(10), settings(2))
    peer.decide(20, at(20), settings(2))
    peer.decide(30, at(30, executors_running=4), settings(4))
    peer.decide(40, at(40, executors_running=4), settings(4))
    assert paper.seen[-1].running_since_ms == 30_000


def test_a_lost_executor_restarts_the_job() -> None:
    paper = Paper()
    peer = flink(paper)
    for now_s, running in ((10, 2), (20, 2), (30, 1), (40, 2), (50, 2)):
        peer.decide(now_s, at(now_s, executors_running=running), settings(2))
    assert [(s.now_ms, s.running_since_ms) for s in paper.seen] == [(20_000, 0), (50_000, 40_000)]


def test_it_holds_without_signals_and_between_its_turns_and_on_an_old_scrape() -> None:
    paper = Paper(wanted=5)
    peer = flink(paper, control_loop_interval_s=80)
    unseen = (None, at(20, lag_records=None), at(25, slots_busy=None), at(30), at(40), at(40))
    for now_s, seen in zip(range(20, 80, 10), unseen, strict=True):
        assert peer.decide(now_s, seen, settings(2)) == settings(2)
    assert paper.seen == []
    assert peer.decide(80, at(80), settings(2)).executors == 5

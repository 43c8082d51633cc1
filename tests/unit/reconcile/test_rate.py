"""A pipeline without a Kafka through the loop: its goal is judged by what is known."""

from __future__ import annotations

from typing import Any

from tests.unit.reconcile.stage import Stage, series

RATE = {"source": {"rate": {"rowsPerSecond": 25}}, "sink": {"noop": {}}}
OF_KAFKA = {"input_rate", "input_rate_long", "hottest_rate", "partitions", "lag_records", "lag_s"}


def seen(stage: Stage, **values: Any) -> None:
    """A sample of a driver that knows of no lag, and a tick."""
    known = series("clicks", stage.clock.now_s + 10, **values)
    stage.see({name: samples for name, samples in known.items() if name not in OF_KAFKA})
    stage.tick()


def running() -> Stage:
    stage = Stage()
    stage.put_pipeline("clicks", goal={"latency": {"target": "20s"}}, **RATE)
    stage.running()
    return stage


def test_the_goal_is_met_by_the_times_in_the_rows() -> None:
    stage = running()
    seen(stage)
    assert stage.condition("GoalMet") == ("True", "GoalMet")
    assert "lag" not in stage.status()
    seen(stage, batch_id=6, batch_record_latency_seconds=21.0)
    assert stage.condition("GoalMet") == ("False", "LatencyAboveTarget")


def test_a_batch_that_hangs_breaks_the_goal() -> None:
    stage = running()
    seen(stage, batch_running_seconds=90.0, batch_running_records=50.0)
    assert stage.condition("GoalMet") == ("False", "LatencyAboveTarget")


def test_nothing_is_tuned_while_nobody_knows_what_waits() -> None:
    stage = running()
    before = stage.document()["settings"]
    for batch in range(1000, 1020):
        seen(stage, batch_id=batch, batches_total=batch, batch_duration_seconds=22.9)
    assert stage.condition("Tuning") == ("True", "LoadUnknown")
    assert stage.document()["settings"] == before


def test_it_never_sleeps_because_nobody_knows_that_nothing_comes() -> None:
    stage = Stage()
    limits = {"executors": {"min": 0, "max": 3, "idleAfter": "10s"}}
    stage.put_pipeline("clicks", goal={"latency": {"target": "20s"}}, limits=limits, **RATE)
    stage.running()
    for batch in range(6, 20):
        seen(stage, batch_id=batch, batch_records=0)
    assert stage.document()["settings"]["executors"] == 1


def test_a_pipeline_without_a_kafka_waits_for_none() -> None:
    stage = Stage()
    stage.cluster.delete(("KafkaCluster", "n", "events"))
    stage.put_pipeline("clicks", goal={"latency": {"target": "20s"}}, **RATE)
    stage.tick()
    assert stage.has("StatefulSet", "clicks-driver")
    assert stage.condition("Stalled") == ("False", "NotStalled")

"""The driver runtime against a real broker and a real Spark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.produce import Summary, produce
from dev.loadgen.records import Verdict
from dev.loadgen.verify import verify
from tests.kafka.driver import Driver

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]


def outcome(broker: KafkaBroker, topic: str, made: Summary) -> Verdict:
    return verify(broker.bootstrap, topic, made.run, made.sequences, frozenset(made.unacknowledged))


def test_runs_changes_and_stops_without_losing_or_doubling_a_record(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    sample = {"module": "trimtab.transforms.samples:transform", "params": {"wait_ms": "1"}}
    driver = make_driver(transform=sample)
    first = driver.settings(trigger="200ms", maxOffsetsPerTrigger=500)
    made = produce(broker.bootstrap, topics[0], [(2.0, 1000)])
    driver.start()
    metrics = driver.until(lambda m: m.get("batches_total", 0) >= 2)
    assert driver.get("/ready") == (200, "ready")
    assert metrics["run_number"] == 1
    assert metrics["batch_limit_binding"] == 1
    assert metrics["settings_generation"] == first
    assert metrics[f'lag_records{{partition="0",topic="{topics[0]}"}}'] > 0
    assert metrics["start_backlog_records"] > 0

    second = driver.settings(trigger="100ms", maxOffsetsPerTrigger=800)
    metrics = driver.until(lambda m: m.get("batch_settings_generation") == second)
    assert metrics["run_number"] == 2
    assert metrics['changes_total{how="query"}'] == 1
    assert metrics['effective_number{knob="trigger"}'] == 0.1
    assert metrics['effective{knob="maxOffsetsPerTrigger",value="800"}'] == 1
    assert 0 < metrics['pause_seconds_total{how="query"}'] < 10

    refused = driver.settings(schema=2)
    driver.until(lambda m: m.get("settings_rejected_generation") == refused)
    metrics = driver.until(driver.committed(made.acknowledged))
    assert metrics["start_backlog_records"] == 0
    assert metrics["settings_generation"] == second
    assert metrics['ledger_records_total{side="source"}'] == made.acknowledged
    assert metrics['ledger_records_total{side="sink"}'] == made.acknowledged
    assert metrics['ledger_xor{side="source"}'] == metrics['ledger_xor{side="sink"}'] != 0
    assert metrics['ledger_sum{side="source"}'] == metrics['ledger_sum{side="sink"}'] != 0
    assert metrics["ledger_mismatch_total"] == 0
    metrics = driver.until(lambda m: m.get("arrived_records") == made.acknowledged)
    assert metrics["missing_records"] == 0
    assert metrics["record_latency_seconds_count"] == pytest.approx(made.acknowledged)
    assert metrics['batch_record_latency_seconds{quantile="0.95"}'] > 0
    assert "cpu_ratio" not in metrics, "what Python workers compute is not known"
    assert 0 < metrics['executor_load{executor="driver"}'] <= 1
    assert 0 < metrics['executor_capacity{executor="driver"}'] < 1.5

    assert driver.terminate() == 0
    verdict = outcome(broker, topics[1], made)
    assert (verdict.lost, verdict.duplicated) == (0, 0)
    assert verdict.delivered == made.acknowledged == 2000


def test_another_source_option_restarts_the_query_once_and_not_the_driver(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    driver = make_driver()
    knobs = {"trigger": "0s", "maxOffsetsPerTrigger": 500}
    driver.settings(**knobs)
    made = produce(broker.bootstrap, topics[0], [(1.0, 20_000)])
    driver.start()
    driver.until(lambda m: m.get("batches_total", 0) >= 2)
    driver.source = {"startingOffsets": "latest", "failOnDataLoss": False}
    edited = driver.settings(**knobs)
    metrics = driver.until(lambda m: m.get("batch_settings_generation") == edited)
    assert sum(v for k, v in metrics.items() if k.startswith("lag_records{")) > 0, "in mid-load"
    assert metrics["run_number"] == 2
    assert metrics['changes_total{how="query"}'] == 1
    same = driver.settings(**knobs)
    metrics = driver.until(lambda m: m.get("batch_settings_generation") == same)
    assert (metrics["run_number"], metrics['changes_total{how="query"}']) == (2, 1)
    assert metrics.get('changes_total{how="driver"}', 0) == 0
    driver.settings(trigger="0s", maxOffsetsPerTrigger=10_000)
    driver.until(driver.committed(made.acknowledged))
    assert driver.terminate() == 0
    verdict = outcome(broker, topics[1], made)
    assert (verdict.lost, verdict.duplicated) == (0, 0)
    assert verdict.delivered == made.acknowledged == 20_000


def test_a_quiet_topic_does_not_wait_behind_the_backlog_of_a_busy_one(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    """Of each batch every partition that holds records has a part, however small."""
    quiet = f"{topics[0]}-quiet"
    broker.create_topic(quiet, 1)
    source = {"bootstrapServers": broker.bootstrap, "topics": [topics[0], quiet]}
    sample = {"module": "trimtab.transforms.samples:transform", "params": {"wait_ms": "1"}}
    driver = make_driver(source=source, transform=sample)
    driver.settings(trigger="0s", maxOffsetsPerTrigger=500)
    made = produce(broker.bootstrap, topics[0], [(1.0, 20_000)])
    driver.start()
    driver.until(lambda m: m.get("batches_total", 0) >= 2)
    rare = produce(broker.bootstrap, quiet, [(0.1, 50)])
    of_quiet = f'{{partition="0",topic="{quiet}"}}'
    metrics = driver.until(
        lambda m: (
            m.get(f"partition_input_total{of_quiet}") == rare.acknowledged
            and m[f"lag_records{of_quiet}"] == 0
        )
    )
    assert rare.acknowledged == 5
    behind = sum(v for k, v in metrics.items() if k.startswith("lag_records{"))
    assert behind > made.acknowledged / 4, "the busy one is far from done"
    assert driver.terminate() == 0


HASH = "sha2(repeat(CAST(value AS STRING), 5000), 512)"
WORK = {"sql": f"SELECT key, CONCAT({HASH}, value) AS value FROM source"}


def test_tells_what_its_tasks_compute_and_where_they_ran(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    driver = make_driver(transform=WORK)
    driver.settings(trigger="200ms", maxOffsetsPerTrigger=500)
    made = produce(broker.bootstrap, topics[0], [(2.0, 1000)])
    driver.start()
    metrics = driver.until(driver.committed(made.acknowledged))
    metrics = driver.until(lambda m: m.get("heap_used_ratio") and m.get("cpu_ratio"))
    assert 0.05 < metrics["cpu_ratio"] <= 1
    assert 0 < metrics["heap_used_ratio"] <= 1

    def all_tasks_are_counted(seen: dict[str, float]) -> bool:
        tasks = sum(v for k, v in seen.items() if k.startswith("task_locality_total"))
        return tasks >= 4 * seen["batches_total"]  # they are sampled, batches are counted at once

    driver.until(all_tasks_are_counted)
    assert driver.terminate() == 0


def test_the_ledger_tells_other_records_from_the_same_number(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    """A transform that claims other offsets stands for records lost and others added."""
    sql = "SELECT key, value, topic, partition, offset + 1 AS offset FROM source"
    driver = make_driver(transform={"sql": sql})
    driver.settings(trigger="0s", maxOffsetsPerTrigger=500)
    made = produce(broker.bootstrap, topics[0], [(1.0, 100)])
    driver.start()
    metrics = driver.until(driver.committed(made.acknowledged))
    assert metrics['ledger_records_total{side="sink"}'] == made.acknowledged
    assert metrics["ledger_mismatch_total"] >= 1


def test_what_is_fetched_at_once_follows_the_size_of_the_records(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    driver = make_driver(transform={"sql": "SELECT * FROM source"})
    driver.settings(trigger="0s", maxOffsetsPerTrigger=4000)
    made = produce(broker.bootstrap, topics[0], [(1.0, 100)], size=2000)
    driver.start()
    metrics = driver.until(driver.committed(made.acknowledged))
    assert metrics["batch_bytes"] == 2000 * metrics["batch_records"]
    assert 'effective_number{knob="fetch.maxPartitionBytes"}' not in metrics
    driver.settings(trigger="100ms", maxOffsetsPerTrigger=4000)
    driver.until(lambda m: m.get('effective_number{knob="fetch.maxPartitionBytes"}') == 1 << 21)
    more = produce(broker.bootstrap, topics[0], [(1.0, 100)], size=2000)
    driver.until(driver.committed(made.acknowledged + more.acknowledged))
    assert driver.terminate() == 0

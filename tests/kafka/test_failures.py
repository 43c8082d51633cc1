"""What goes wrong, and what the driver does then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.produce import Summary, produce
from dev.loadgen.verify import verify
from tests.kafka.driver import Driver

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]


def test_reasons_of_a_pipeline_that_cannot_start(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    def job_of(**job: object) -> Driver:
        driver = make_driver(**job)
        driver.settings(trigger="0s")
        driver.start()
        return driver

    missing = {"bootstrapServers": broker.bootstrap, "topics": ["nowhere"]}
    said = job_of(source=missing).termination()
    assert said["reason"] == "TopicNotFound"
    assert "nowhere" in said["message"]

    said = job_of(transform={"module": "jobs.missing:transform"}).termination()
    assert said["reason"] == "ModuleNotFound"
    assert "jobs.missing" in said["message"]

    said = job_of(transform={"sql": "SELECT key, upper(vallue) AS value FROM source"}).termination()
    assert said["reason"] == "TransformFailed"
    assert "vallue" in said["message"]
    assert "line 1" in said["message"]


def test_a_mounted_module_that_raises_is_named(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "jobs_raising.py").write_text(
        "from pyspark.sql import functions as F\n"
        "def transform(df, params):\n"
        "    def work(value):\n"
        "        raise KeyError('no such customer')\n"
        "    return df.select(F.udf(work)('value').alias('value'))\n"
    )
    produce(broker.bootstrap, topics[0], [(0.1, 100)])
    driver = make_driver(transform={"module": "jobs_raising:transform"})
    driver.settings(trigger="0s")
    driver.start()
    said = driver.termination()
    assert said["reason"] == "TransformFailed"
    assert "no such customer" in said["message"]


def test_killed_driver_loses_nothing(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    driver = make_driver()
    driver.settings(trigger="0s", maxOffsetsPerTrigger=500)
    made = produce(broker.bootstrap, topics[0], [(1.0, 20_000)])
    driver.start()
    driver.until(lambda m: m.get("batches_total", 0) >= 3 and m["batch_running_records"] > 0)
    driver.kill()
    driver.settings(trigger="0s", maxOffsetsPerTrigger=10_000)
    driver.start()
    metrics = driver.until(lambda m: m.get("run_number") == 2 and lag(m) == 0)
    assert metrics['changes_total{how="driver"}'] == 1
    assert metrics['pause_seconds_total{how="driver"}'] > 0
    assert driver.terminate() == 0
    found = verify(broker.bootstrap, topics[1], made.run, made.sequences, frozenset())
    assert found.lost == 0
    assert found.delivered == made.acknowledged


def lag(metrics: dict[str, float]) -> float | None:
    lags = [v for k, v in metrics.items() if k.startswith("lag_records{")]
    return sum(lags) if lags else None


def test_drain_timeout_is_an_unclean_stop(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    sample = {"module": "trimtab.job.samples:transform", "params": {"wait_ms": "100"}}
    driver = make_driver(transform=sample, drainTimeout="1s")
    driver.settings(trigger="0s")
    produce(broker.bootstrap, topics[0], [(0.5, 2000)])
    driver.start()
    driver.until(lambda m: m.get("batch_running_seconds", 0) > 1)
    began = time.monotonic()
    assert driver.terminate() == 3
    assert time.monotonic() - began < 15
    assert "DrainTimeout" in (driver.directory / "termination.json").read_text()


def test_goes_on_by_itself_when_kafka_comes_back(tmp_path: Path, drivers: list[Driver]) -> None:
    broker = KafkaBroker(tmp_path / "kafka")
    broker.start()
    try:
        for topic in ("clicks", "clicks-out"):
            broker.create_topic(topic, 2)
        driver = Driver(tmp_path / "driver", broker.bootstrap)
        drivers.append(driver)
        driver.settings(trigger="200ms", maxOffsetsPerTrigger=1000)
        driver.start()
        driver.until(lambda m: m.get("run_number") == 1 and lag(m) == 0)
        made: list[Summary] = []
        load = threading.Thread(
            target=lambda: made.append(produce(broker.bootstrap, "clicks", [(50.0, 100)]))
        )
        load.start()
        driver.until(lambda m: m.get("records_total", 0) > 200)
        broker.kill()
        metrics = driver.until(lambda m: lag(m) is None)
        assert not any(k.startswith("partition_input") for k in metrics)
        # long enough for Spark to give up on Kafka, and the query with it
        driver.until(lambda _: driver.get("/ready")[0] == 503, timeout_s=60)
        assert "KafkaUnreachable" in driver.get("/ready")[1]
        broker.start()
        driver.until(lambda m: m["run_number"] >= 2, timeout_s=90)
        load.join()
        assert made[0].unacknowledged == []
        driver.until(driver.committed(made[0].acknowledged), timeout_s=90)
        assert driver.get("/ready")[0] == 200
        assert driver.terminate() == 0
        found = verify(broker.bootstrap, "clicks-out", made[0].run, made[0].sequences, frozenset())
        assert (found.lost, found.delivered) == (0, made[0].acknowledged)
    finally:
        broker.stop()

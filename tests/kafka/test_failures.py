"""What goes wrong, and what the driver does then."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.produce import Summary, produce
from dev.loadgen.verify import verify
from tests.kafka.driver import Driver
from tests.long import LONG

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]


def test_reasons_of_a_pipeline_that_cannot_start(
    broker: KafkaBroker, make_driver: Callable[..., Driver]
) -> None:
    def started(**job: object) -> Driver:
        driver = make_driver(**job)
        driver.settings(trigger="0s")
        driver.start()
        return driver

    elsewhere = {"bootstrapServers": broker.bootstrap, "topics": ["nowhere"]}
    topic = started(source=elsewhere)
    module = started(transform={"module": "jobs.missing:transform"})
    column = started(transform={"sql": "SELECT key, upper(vallue) AS value FROM source"})
    assert topic.termination()["reason"] == "TopicNotFound"
    assert "nowhere" in topic.termination()["message"]
    assert module.termination()["reason"] == "ModuleNotFound"
    assert "'jobs'" in module.termination()["message"]
    assert column.termination()["reason"] == "TransformFailed"
    assert "vallue" in column.termination()["message"]
    assert "line 1 pos 18" in column.termination()["message"]


def test_a_mounted_module_that_raises_is_named(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    driver = make_driver(transform={"module": "jobs_raising:transform"})
    modules = driver.directory / "modules"
    modules.mkdir()
    (modules / "jobs_raising.py").write_text(
        "from pyspark.sql import functions as F\n"
        "def transform(df, params):\n"
        "    def work(value):\n"
        "        raise KeyError('no such customer')\n"
        "    return df.select(F.udf(work)('value').alias('value'))\n"
    )
    produce(broker.bootstrap, topics[0], [(0.1, 100)])
    driver.settings(trigger="0s")
    driver.start()
    said = driver.termination()
    assert said["reason"] == "TransformFailed"
    assert "no such customer" in said["message"]
    assert re.match(rf"{topics[0]}/\d at 0, in batch 0: the transform raised", said["message"])


@pytest.mark.timeout(600)
@LONG
def test_a_batch_planned_larger_than_a_later_limit_says_so_while_it_runs_again(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    driver = make_driver(transform={"module": "jobs_slow:transform"})
    modules = driver.directory / "modules"
    modules.mkdir()
    (modules / "jobs_slow.py").write_text(
        "import time\n"
        "from pyspark.sql import functions as F\n"
        "def transform(df, params):\n"
        "    def work(value):\n"
        "        time.sleep(0.004)\n"
        "        return value\n"
        "    return df.select(F.udf(work, 'binary')('value').alias('value'))\n"
    )
    made = produce(broker.bootstrap, topics[0], [(1.0, 6_000)])
    driver.settings(trigger="0s", maxOffsetsPerTrigger=4_000)
    driver.start()
    metrics = driver.until(lambda m: m.get("batch_running_records", 0) >= 3_000, 120)
    batch, planned = metrics["batch_running_id"], metrics["batch_running_records"]
    assert metrics["batch_running_replays"] == 0
    driver.kill()
    driver.settings(trigger="0s", maxOffsetsPerTrigger=200)
    for replays in (1, 2):
        driver.start()
        metrics = driver.until(lambda m: m.get("batch_running_replays", 0) > 0, 120)
        assert (metrics["batch_running_id"], metrics["batch_running_records"]) == (batch, planned)
        assert metrics["batch_running_replays"] == replays
        if replays == 1:
            driver.kill()
    after = driver.until(lambda m: m.get("batch_id", -1) == batch)
    assert (after["batch_replayed"], after["batch_records"]) == (1, planned)
    later = driver.until(lambda m: m.get("batch_id", -1) > batch)
    assert later["batch_replayed"] == 0
    assert later["batch_records"] <= 204, "the limit holds for those that are planned under it"
    driver.settings(trigger="0s", maxOffsetsPerTrigger=4_000)
    driver.until(lambda m: m.get("batch_running_replays") == 0 and lag(m) < made.acknowledged)
    assert driver.terminate() == 0


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
    sample = {"module": "trimtab.transforms.samples:transform", "params": {"wait_ms": "100"}}
    driver = make_driver(transform=sample, drainTimeout="1s")
    driver.settings(trigger="0s")
    produce(broker.bootstrap, topics[0], [(0.5, 2000)])
    driver.start()
    driver.until(lambda m: m.get("batch_running_seconds", 0) > 1)
    began = time.monotonic()
    assert driver.terminate() == 3
    assert time.monotonic() - began < 15
    assert "DrainTimeout" in (driver.directory / "termination.json").read_text()


@LONG
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
        made = [interrupted_in_mid_load(broker, driver), interrupted_when_idle(broker, driver)]
        assert driver.terminate() == 0
        for run in made:
            assert run.unacknowledged == []
            found = verify(broker.bootstrap, "clicks-out", run.run, run.sequences, frozenset())
            assert (found.lost, found.delivered) == (0, run.acknowledged)
    finally:
        broker.stop()


def interrupted_in_mid_load(broker: KafkaBroker, driver: Driver) -> Summary:
    """Short enough for the clients to hold out: the query need not even restart."""
    made: list[Summary] = []
    load = threading.Thread(
        target=lambda: made.append(produce(broker.bootstrap, "clicks", [(12.0, 200)]))
    )
    load.start()
    driver.until(lambda m: m.get("records_total", 0) > 200)
    broker.kill()
    metrics = driver.until(lambda m: lag(m) is None)
    assert not any(k.startswith("partition_input") for k in metrics)
    broker.start()
    load.join()
    driver.until(driver.committed(made[0].acknowledged), timeout_s=90)
    return made[0]


def interrupted_when_idle(broker: KafkaBroker, driver: Driver) -> Summary:
    """Long enough for Spark to give up on Kafka, and the query with it."""
    before = driver.metrics()["run_number"]
    broker.kill()
    driver.until(lambda _: driver.get("/ready")[0] == 503)
    assert "KafkaUnreachable" in driver.get("/ready")[1]
    broker.start()
    metrics = driver.until(lambda m: m["run_number"] > before)
    done = metrics["records_total"]
    made = produce(broker.bootstrap, "clicks", [(1.0, 1000)])
    driver.until(driver.committed(int(done) + made.acknowledged))
    assert driver.get("/ready")[0] == 200
    return made

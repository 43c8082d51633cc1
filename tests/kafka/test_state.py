"""Queries with state against a real broker and Spark: the pipelines of examples/30-windows."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer
from dev.kafka import KafkaBroker
from dev.loadgen.verify import read_all
from tests.kafka.diagnosis import bottleneck
from tests.kafka.driver import REPO, Driver
from tests.long import LONG

from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.tuning.settings import Settings

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

EXAMPLE = REPO / "examples/30-windows"
SHUFFLE = "spark.sql.shuffle.partitions"
WINDOW_MS = 10_000
T0_MS = int(time.time() * 1000) // WINDOW_MS * WINDOW_MS - 3_600_000
"""An hour ago: Kafka refuses times to come, and drops what is older than its retention."""
KEYS = 5
COMMIT = 'batch_duration_seconds{phase="state_commit"}'


def transform_of(pipeline: str) -> dict[str, Any]:
    """The transform of an example as the driver is told it."""
    said = yaml.safe_load((EXAMPLE / f"{pipeline}.yaml").read_text())["spec"]["transform"]
    python = said.pop("python", None)
    return said | ({k: python[k] for k in ("module", "params")} if python else {})


def with_modules(driver: Driver) -> Driver:
    modules = yaml.safe_load((EXAMPLE / "transform.yaml").read_text())["data"]
    (driver.directory / "modules").mkdir()
    for name, text in modules.items():
        (driver.directory / "modules" / name).write_text(text)
    return driver


def send(broker: KafkaBroker, topic: str, numbers: Iterator[int] | range) -> None:
    """Clicks of five keys, one each 20 ms of event time; the same number is the same click."""
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    refused: list[Any] = []

    def heard(error: Any, _message: Any) -> None:
        refused.extend([error] if error else [])

    for n in numbers:
        key, value = f"k{n % KEYS}", f"click-{n}"
        producer.produce(topic, value, key, timestamp=T0_MS + 20 * n, on_delivery=heard)
        producer.poll(0)
    assert producer.flush(30) == 0
    assert not refused


def expected(clicks: int) -> Counter[tuple[str, int]]:
    """How many clicks each key has in each window, by the window's number."""
    return Counter((f"k{n % KEYS}", 20 * n // WINDOW_MS) for n in range(clicks))


def counted(broker: KafkaBroker, topic: str) -> dict[tuple[str, int], int]:
    """The last count of each key and window: a click that counts twice would show in it."""
    counts: dict[tuple[str, int], int] = {}
    starts: dict[str, int] = {}
    rows = [json.loads(value or b"") for value in read_all(broker.bootstrap, topic)]
    for start in sorted({row["start"] for row in rows}):
        starts[start] = len(starts)
    for row in rows:
        key = (row["key"], starts[row["start"]])
        counts[key] = max(row["clicks"], counts.get(key, 0))
    return counts


def test_windowed_counts_are_exact_over_a_query_restart_and_a_killed_driver(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    clicks = 6000
    driver = make_driver(transform=transform_of("windows"), outputMode="update")
    driver.settings(trigger="0s", maxOffsetsPerTrigger=400)
    send(broker, topics[0], range(clicks))
    driver.start()
    metrics = driver.until(lambda m: m.get("batches_total", 0) >= 3)
    assert metrics["state_rows"] > 0
    assert metrics["state_bytes"] > 0
    assert 0 < metrics["state_commit_seconds"] == metrics[COMMIT]
    assert metrics[COMMIT] <= metrics['batch_duration_seconds{phase="add_batch"}']
    assert "ledger_mismatch_total" not in metrics, "a count is not one for each record"

    edited = driver.settings(trigger="0s", maxOffsetsPerTrigger=401)
    metrics = driver.until(lambda m: m.get("batch_settings_generation") == edited)
    assert metrics["run_number"] == 2
    assert sum(v for k, v in metrics.items() if k.startswith("lag_records{")) > 0
    driver.kill()
    driver.settings(trigger="0s", maxOffsetsPerTrigger=2000)
    driver.start()
    driver.until(driver.committed(1))
    # one row for each key and window, until the watermark has passed it
    driver.until(lambda m: 0 < m["state_rows"] < len(expected(clicks)))
    assert driver.terminate() == 0
    assert counted(broker, topics[1]) == expected(clicks)


@LONG
def test_append_writes_each_window_once_when_it_is_complete(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    clicks, complete = 6000, 5
    driver = make_driver(transform=transform_of("windows"), outputMode="append")
    driver.settings(trigger="0s", maxOffsetsPerTrigger=2000)
    send(broker, topics[0], range(clicks))
    driver.start()
    left = len(expected(clicks)) - complete * KEYS  # the watermark is a minute behind
    driver.until(lambda m: m.get("records_total") == clicks and m["state_rows"] == left)
    send(broker, topics[0], range(3))  # of the first window, which the watermark has passed
    driver.until(lambda m: m.get("late_records_total", 0) > 0)
    assert driver.terminate() == 0
    assert len(list(read_all(broker.bootstrap, topics[1]))) == complete * KEYS
    whole = {key: n for key, n in expected(clicks).items() if key[1] < complete}
    assert counted(broker, topics[1]) == whole


@LONG
def test_deduplication_drops_what_came_before_also_over_a_restart(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    driver = with_modules(make_driver(transform=transform_of("once")))
    driver.settings(trigger="0s", maxOffsetsPerTrigger=1000)
    send(broker, topics[0], range(1000))
    send(broker, topics[0], range(500))
    driver.start()
    metrics = driver.until(driver.committed(1500))
    assert metrics["state_rows"] == 1000
    assert "ledger_mismatch_total" not in metrics, "a record that is dropped is not lost"
    assert driver.terminate() == 0
    send(broker, topics[0], range(250, 1250))
    driver.start()
    driver.until(driver.committed(1000))
    assert driver.terminate() == 0
    values = Counter(read_all(broker.bootstrap, topics[1]))
    assert values == Counter(f"click-{n}".encode() for n in range(1250))


def test_an_edit_that_the_checkpoint_forbids_is_refused_and_harms_nothing(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    sql = transform_of("windows")["sql"]
    checkpoint = {"checkpointUri": str(tmp_path / "checkpoint/1"), "outputMode": "update"}
    send(broker, topics[0], range(1000))

    def run(transform: dict[str, Any]) -> Driver:
        driver = make_driver(transform=transform, **checkpoint)
        driver.settings(trigger="0s")
        driver.start()
        return driver

    first = run({"sql": sql})
    first.until(first.committed(1000))
    assert first.terminate() == 0
    assert Checkpoint.of(checkpoint["checkpointUri"]).pinned()[SHUFFLE] == "4", "as the topic has"

    forbidden = {
        f"made with {SHUFFLE} 4, the spec says 6": {"sql": sql, "shufflePartitions": 6},
        "(Aggregate ": {"sql": sql.replace("10 seconds", "20 seconds")},
        "the query (none) are not those": {"sql": "SELECT key, value FROM source"},
    }
    for words, transform in forbidden.items():
        refused = run(transform).termination()
        assert refused["reason"] == "CheckpointIncompatible"
        assert words in refused["message"]

    send(broker, topics[0], range(1000, 2000))
    allowed = (
        sql.replace("AS clicks", "AS clicks, 'new' AS more")
        .replace("1 MINUTE", "2 MINUTES")
        .replace("FROM source", "FROM (SELECT key AS who, timestamp FROM source)")
        .replace("CAST(key", "CAST(who")
        .replace("GROUP BY key", "GROUP BY who")
    )
    last = run({"sql": allowed, "shufflePartitions": 4})
    last.until(last.committed(1000))
    assert last.terminate() == 0
    assert counted(broker, topics[1]) == expected(2000)


SLOW_COMMIT = {
    # every commit writes all files of each of the many small stores
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false",
    "spark.sql.streaming.stateStore.rocksdb.compactOnCommit": "true",
}
STORES = 48


@LONG
def test_a_commit_of_state_that_takes_most_of_the_batch_is_named(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    windows = transform_of("windows") | {"shufflePartitions": STORES}
    driver = make_driver(transform=windows, outputMode="update", sparkConf=SLOW_COMMIT)
    driver.settings(trigger="0s", maxOffsetsPerTrigger=500)
    send(broker, topics[0], range(4000))
    driver.start()
    metrics = driver.until(lambda m: m.get("batches_total", 0) >= 5 and m["batch_records"] == 500)
    assert metrics[COMMIT] > 0.4 * metrics['batch_duration_seconds{phase="total"}']
    settings = Settings(executors=1, trigger_s=0.2, max_offsets=500)
    named = bottleneck(metrics, settings, rate=10_000)
    assert named.kind is Kind.STATE_COMMIT, named
    assert "the commit of state takes" in named.evidence
    assert metrics.get("sink_ratio") is None, "a query with state is not timed"
    assert driver.terminate() == 0

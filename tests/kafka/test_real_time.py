"""Spark's real-time mode: records are written as they come, and stops are as exact as ever."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.produce import Summary, produce
from dev.loadgen.verify import verify
from tests.kafka.driver import Driver
from tests.long import LONG

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

P95 = 'batch_record_latency_seconds{quantile="0.95"}'
SQL = {"sql": "SELECT key, value FROM source"}


@pytest.fixture
def at_once(make_driver: Callable[..., Driver]) -> Callable[..., Driver]:
    """A driver with a slot for each partition."""

    def make(**job: Any) -> Driver:
        driver = make_driver(schema=2, transform=SQL, execution="realTime", **job)
        driver._write_defaults({"spark.master": "local[5]"})
        return driver

    return make


def test_records_are_written_as_they_come_and_no_stop_writes_one_twice(
    broker: KafkaBroker, topics: tuple[str, str], at_once: Callable[..., Driver]
) -> None:
    """Other intervals, a stop, and micro-batches on the same checkpoint, all under load."""
    driver = at_once()
    driver.settings(trigger="5s")
    made: list[Summary] = []
    load = threading.Thread(
        target=lambda: made.append(produce(broker.bootstrap, topics[0], [(75.0, 200)]))
    )
    driver.start()
    driver.until(lambda m: m.get("real_time") == 1)
    load.start()
    driver.until(lambda m: m.get("batch_records", 0) > 100)
    seen = driver.until(lambda m: m.get(P95, 9) < 2.5)
    assert seen["batch_running_seconds"] < 10
    assert (seen["ledger_mismatch_total"], seen["skipped_records_total"]) == (0, 0)
    for wait_s in (0.3, 0.4, 0.5, 0.6):  # Spark plans the first batch in that time
        generation = driver.settings(trigger=f"{5 + wait_s}s")
        driver.until(lambda m, at=generation: m["settings_generation"] == at)
        time.sleep(wait_s)
    assert driver.terminate() == 0
    document = json.loads((driver.directory / "job.json").read_text())
    del document["execution"]
    (driver.directory / "job.json").write_text(json.dumps(document))
    driver.start()
    driver.until(lambda m: m.get("real_time") == 0)
    load.join()
    time.sleep(0.5)
    driver.until(lambda m: sum(v for k, v in m.items() if k.startswith("lag_records{")) == 0)
    assert driver.terminate() == 0
    verdict = verify(
        broker.bootstrap, topics[1], made[0].run, made[0].sequences,
        frozenset(made[0].unacknowledged),
    )  # fmt: skip
    assert (verdict.lost, verdict.duplicated) == (0, 0)
    assert verdict.delivered == made[0].acknowledged


@LONG
def test_a_query_with_state_is_refused_and_auto_runs_it_in_micro_batches(
    at_once: Callable[..., Driver],
) -> None:
    driver = at_once(outputMode="update")
    document = json.loads((driver.directory / "job.json").read_text())
    counts = "SELECT key, CAST(count(*) AS STRING) AS value FROM source GROUP BY key"
    document["transform"] = {"sql": counts}
    (driver.directory / "job.json").write_text(json.dumps(document))
    driver.settings(trigger="5s")
    driver.start()
    end = driver.termination()
    assert end["reason"] == "TransformFailed"
    assert "execution: realTime cannot run this transform: it keeps state" in end["message"]
    (driver.directory / "job.json").write_text(json.dumps(document | {"execution": "auto"}))
    driver.start()
    driver.until(lambda m: m.get("real_time") == 0)
    assert "as real-time mode cannot run it: it keeps state" in driver.log.read_text()
    assert driver.terminate() == 0

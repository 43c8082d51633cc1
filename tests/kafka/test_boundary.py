"""The proof of the boundary stop: restarts under backlog at trigger 0 lose and double nothing."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.produce import produce
from dev.loadgen.verify import verify
from tests.kafka.driver import Driver
from tests.long import WHOLE

RESTARTS = 200 if WHOLE else 20
RECORDS_PER_RESTART = 10_000

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(1800 if WHOLE else 500)]


def test_restarts_under_backlog_are_exact(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    driver = make_driver()
    driver.settings(trigger="0s", maxOffsetsPerTrigger=1000)
    made = produce(broker.bootstrap, topics[0], [(1.0, RESTARTS * RECORDS_PER_RESTART)])
    driver.start()
    metrics = driver.until(lambda m: m.get("batches_total", 0) >= 3)
    chance = random.Random(7)
    for step in range(RESTARTS):
        generation = driver.settings(trigger="0s", maxOffsetsPerTrigger=1001 - step % 2)
        driver.until(lambda m, g=generation: m.get("settings_generation") == g)
        # the replayed batch and one more, so that the next stop meets a query at full load
        done = metrics["batches_total"]
        metrics = driver.until(lambda m, d=done: m["batches_total"] >= d + 2)
        time.sleep(chance.uniform(0, 0.2))
    metrics = driver.until(lambda m, g=generation: m.get("batch_settings_generation") == g)
    behind = sum(v for k, v in metrics.items() if k.startswith("lag_records{"))
    pauses = metrics['pause_seconds_total{how="query"}']
    driver.settings(trigger="0s", maxOffsetsPerTrigger=100_000)
    driver.until(driver.committed(made.acknowledged), timeout_s=120)
    assert driver.terminate() == 0
    found = verify(broker.bootstrap, topics[1], made.run, made.sequences, frozenset())
    report = {
        "restarts": metrics['changes_total{how="query"}'],
        "runs": metrics["run_number"],
        "backlog_at_the_end": behind,
        "batches": metrics["batches_total"],
        "mean_pause_s": round(pauses / RESTARTS, 3),
        "produced": made.acknowledged,
        "lost": found.lost,
        "duplicated": found.duplicated,
    }
    sys.stdout.write(json.dumps(report) + "\n")
    assert behind > 0, "the proof needs a backlog until the end"
    assert metrics["run_number"] == 1 + RESTARTS
    assert (found.lost, found.duplicated) == (0, 0), report


SLOW = """
import time
from pyspark.sql import functions as F
def transform(df, params):
    began = []  # sent to each task anew
    def work(value):
        if not began:
            began.append(True)
            time.sleep(5)
        return value
    return df.select("key", F.udf(work, "binary")("value").alias("value"), "topic", "partition")
"""


IDLE_S = 1.0
IDLE = {"spark.sql.streaming.noDataProgressEventInterval": f"{IDLE_S:.0f}s"}
"""How often Spark tells of triggers without data; ten seconds by default."""


def test_a_stop_waits_for_the_first_batch_after_an_idle_time(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    """Triggers that find nothing are reported under the number of the batch that comes next.

    What was only planned at the stop, as batch 2 may be here, has written nothing and runs again.
    """
    driver = make_driver(transform={"module": "jobs_slow:transform"}, sparkConf=IDLE)
    (driver.directory / "modules").mkdir()
    (driver.directory / "modules/jobs_slow.py").write_text(SLOW)
    driver.settings(trigger="200ms", maxOffsetsPerTrigger=5000)
    before = produce(broker.bootstrap, topics[0], [(0.5, 200)])
    driver.start()
    driver.until(driver.committed(before.acknowledged))
    time.sleep(3 * IDLE_S)
    after = produce(broker.bootstrap, topics[0], [(0.5, 8_000)])
    driver.until(lambda m: m.get("batch_running_id") == 1)
    assert driver.terminate() == 0
    driver.start()
    driver.until(driver.committed(0))
    assert driver.terminate() == 0
    assert "batch 1 runs again" not in driver.log.read_text()
    for made in (before, after):
        found = verify(broker.bootstrap, topics[1], made.run, made.sequences, frozenset())
        assert (found.lost, found.duplicated) == (0, 0)

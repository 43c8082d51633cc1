"""`pending_map` with a real broker and a real Spark: order, failures, time-outs, a live limit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.produce import produce
from dev.loadgen.records import identity
from dev.loadgen.verify import read_all, read_messages
from tests.kafka.driver import Driver

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]

MARKING = """
from pyspark.sql import functions as F
from trimtab.transforms import pending_map

def transform(df, params):
    def call(row):
        if row.offset % 50 == 7:
            raise LookupError("no such customer")
        return bytes(row.value)

    columns = "key", "value", "topic", "partition", "offset"
    asked = pending_map(df.select(*columns), call, "answer", "binary", stage="ask", on_error="mark")
    return asked.withColumn("value", F.coalesce("answer", "value")).drop("answer")
"""

CALLS = "trimtab.transforms.samples:calls"
WAIT_MS = 40
"""Long enough for what Spark takes for a batch to be small beside its calls, on a busy machine."""

RECORDS = 2000
PENDING, MEAN = 'pending_calls{stage="upper"}', 'batch_pending_call_seconds{stage="upper"}'
COUNT = 'pending_call_seconds_count{stage="upper"}'


@pytest.fixture
def one_partition(broker: KafkaBroker, tmp_path: Path) -> tuple[str, str]:
    """Two topics of one partition each: one task, and one order to keep."""
    names = f"{tmp_path.name}-in", f"{tmp_path.name}-out"
    for name in names:
        broker.create_topic(name, 1)
    return names


def calling(
    make_driver: Callable[..., Driver],
    broker: KafkaBroker,
    topics: tuple[str, str],
    sink: dict[str, str] | None = None,
    **params: str,
) -> Driver:
    source = {"bootstrapServers": broker.bootstrap, "topics": [topics[0]]}
    kafka = {"kind": "kafka", "bootstrapServers": broker.bootstrap, "topic": topics[1]}
    transform = {"module": CALLS, "params": {"wait_ms": str(WAIT_MS), **params}}
    return make_driver(source=source, sink=sink or kafka, transform=transform)


def rate(driver: Driver, generation: int) -> tuple[float, dict[str, float]]:
    """Records/s of the work of a warm batch that these settings were in force for."""
    metrics = driver.until(lambda m: m.get("batch_settings_generation") == generation)
    batch = metrics["batch_id"]
    metrics = driver.until(lambda m: m["batch_id"] > batch)
    return metrics["batch_records"] / metrics['batch_duration_seconds{phase="add_batch"}'], metrics


def test_the_limit_is_live_and_the_order_is_kept(
    broker: KafkaBroker, one_partition: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    driver = calling(make_driver, broker, one_partition)
    knobs = {"trigger": "0s", "maxOffsetsPerTrigger": 200}
    first = driver.settings(**knobs)
    made = produce(broker.bootstrap, one_partition[0], [(0.2, 5 * RECORDS)])
    driver.start()
    slow, metrics = rate(driver, first)
    assert slow < 1000 / WAIT_MS
    assert metrics['effective_number{knob="maxInFlight"}'] == 1, "there is a stage to move"
    assert metrics[PENDING] == 1
    assert WAIT_MS / 1000 <= metrics[MEAN] < 2 * WAIT_MS / 1000

    second = driver.settings(**knobs, maxInFlight=8)
    fast, metrics = rate(driver, second)
    assert metrics["run_number"] == 1, "no restart"
    assert metrics['changes_total{how="live"}'] == 1
    assert metrics.get('changes_total{how="query"}', 0) == 0
    assert metrics['effective_number{knob="maxInFlight"}'] == 8
    assert metrics[PENDING] == 8
    assert fast > 3.5 * slow, (slow, fast)
    assert fast < 8 * 1000 / WAIT_MS

    metrics = driver.until(driver.committed(made.acknowledged))
    assert metrics[COUNT] == made.acknowledged
    assert metrics["ledger_mismatch_total"] == 0, "a stage keeps every record"
    assert metrics['pending_call_errors_total{stage="upper"}'] == 0
    assert "cpu_ratio" not in metrics, "what Python workers compute is not known"
    assert driver.terminate() == 0
    values = [identity(v) for v in read_all(broker.bootstrap, one_partition[1])]
    assert values == [(made.run, sequence) for sequence in range(made.sequences)]


def test_calls_that_fail_or_hang_leave_null_or_end_the_batch_as_asked(
    broker: KafkaBroker, one_partition: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    hang = {"hang": "-90 ", "timeout_s": "1", "wait_ms": "8"}
    kept = calling(make_driver, broker, one_partition, on_error="null", fail="-57 ", **hang)
    failing = calling(
        make_driver, broker, one_partition, sink={"kind": "noop"}, fail="-57 ", wait_ms="8"
    )
    hanging = calling(make_driver, broker, one_partition, sink={"kind": "noop"}, **hang)
    made = produce(broker.bootstrap, one_partition[0], [(0.1, 2000)])
    for driver in (kept, failing, hanging):
        driver.settings(trigger="0s", maxInFlight=4)
        driver.start()
    failed, hung = failing.termination(), hanging.termination()
    assert failed["reason"] == hung["reason"] == "TransformFailed"
    assert "stage 'upper'" in failed["message"]
    assert "LookupError: no such customer" in failed["message"]
    assert f"of {one_partition[0]}/0 at 57" in failed["message"]
    assert f"of {one_partition[0]}/0 at 90 gave no answer within 1 s" in hung["message"]

    metrics = kept.until(kept.committed(made.acknowledged))
    assert metrics['pending_call_errors_total{stage="upper"}'] == 2
    assert metrics[PENDING] == 4, "the call that hangs counts until it returns"
    assert kept.terminate() == 0
    values = [identity(v) for v in read_all(broker.bootstrap, one_partition[1])]
    whole = [(made.run, sequence) for sequence in range(made.sequences)]
    assert values == [None if n in {57, 90} else v for n, v in enumerate(whole)]


def test_rows_whose_calls_fail_become_dead_letters(
    broker: KafkaBroker, one_partition: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    dead = f"{one_partition[1]}-dead"
    broker.create_topic(dead, 1)
    driver = make_driver(
        schema=2,
        source={"bootstrapServers": broker.bootstrap, "topics": [one_partition[0]]},
        sink={"kind": "kafka", "bootstrapServers": broker.bootstrap, "topic": one_partition[1]},
        transform={"module": "marking:transform"},
        deadLetters={"topic": dead, "maxPerBatch": 100},
    )
    (driver.directory / "modules").mkdir()
    (driver.directory / "modules" / "marking.py").write_text(MARKING)
    made = produce(broker.bootstrap, one_partition[0], [(0.1, 2000)])
    driver.settings(trigger="0s", maxInFlight=4)
    driver.start()
    metrics = driver.until(driver.committed(made.acknowledged))
    assert metrics["ledger_mismatch_total"] == 0
    assert driver.terminate() == 0
    failed = {n for n in range(made.sequences) if n % 50 == 7}
    assert metrics["dead_letters_total"] == metrics['pending_call_errors_total{stage="ask"}']
    found = list(read_messages(broker.bootstrap, dead))
    assert {identity(record.value()) for record in found} == {(made.run, n) for n in failed}
    assert len(found) == len(failed)
    words = {dict(record.headers())["trimtab.error"].decode() for record in found}
    assert all("failed: LookupError: no such customer" in each for each in words)
    assert f"of {one_partition[0]}/0 at 57 failed" in " ".join(words)
    values = [identity(v) for v in read_all(broker.bootstrap, one_partition[1])]
    assert values == [(made.run, n) for n in range(made.sequences) if n not in failed]

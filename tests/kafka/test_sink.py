"""How a batch divides into working and writing, with a Kafka that answers slowly and one not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from bench.producer.place import brokers
from confluent_kafka.admin import AdminClient, NewTopic
from dev.kafka import KafkaBroker
from dev.loadgen.produce import Summary, produce
from dev.loadgen.verify import verify
from tests.kafka.diagnosis import bottleneck
from tests.kafka.driver import Driver

from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.job.timing import FIRST
from trimtab.tuning.settings import Settings

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]

ROUND_TRIP_MS = 1000.0
OUT = "out"
KNOBS = {"trigger": "200ms", "maxOffsetsPerTrigger": 400}
SETTINGS = Settings(executors=1, trigger_s=0.2, max_offsets=400)
COMPUTE, SINK, WORK = (
    f'batch_duration_seconds{{phase="{phase}"}}' for phase in ("compute", "sink", "add_batch")
)


@pytest.fixture(scope="module")
def far() -> Iterator[str]:
    """The address of a broker whose answers take a while."""
    with brokers([ROUND_TRIP_MS]) as addresses:
        address = addresses[ROUND_TRIP_MS]
        admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        admin.create_topics([NewTopic(OUT, 4, 1)])[OUT].result(30)
        yield address


def timed(driver: Driver, records: int) -> dict[str, float]:
    """The metrics of the second timed batch, the first being cold; then all is worked off."""
    driver.settings(**KNOBS)
    driver.start()
    cold = driver.until(lambda m: m.get("batch_timed") == 1)
    assert cold["batches_total"] > FIRST
    found = driver.until(lambda m: m["batch_timed"] == 1 and m["batch_id"] > cold["batch_id"])
    assert 0.5 * found[WORK] < found[COMPUTE] + found[SINK] <= found[WORK]
    assert found["sink_ratio"] == pytest.approx(found[SINK] / (found[COMPUTE] + found[SINK]))
    last = driver.until(driver.committed(records))
    assert last["ledger_mismatch_total"] == 0
    assert 'ledger_xor{side="source"}' not in last or (
        last['ledger_xor{side="source"}'] == last['ledger_xor{side="sink"}'] != 0
    )
    return found


def delivered_once(bootstrap: str, topic: str, made: Summary) -> None:
    verdict = verify(bootstrap, topic, made.run, made.sequences, frozenset(made.unacknowledged))
    assert (verdict.lost, verdict.duplicated) == (0, 0)
    assert verdict.delivered == made.acknowledged


def test_a_slow_kafka_shows_in_the_share_of_the_sink_and_is_named(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], far: str
) -> None:
    sink = {"kind": "kafka", "bootstrapServers": far, "topic": OUT}
    driver = make_driver(sink=sink, transform={"sql": "SELECT * FROM source"})
    made = produce(broker.bootstrap, topics[0], [(1.0, 4000)])
    found = timed(driver, made.acknowledged)
    assert found["sink_ratio"] > 0.5
    metrics = driver.until(lambda m: m.get("batch_timed") == 0 and SINK not in m)
    assert metrics["sink_ratio"] > 0.5, "what was measured is known meanwhile"
    named = bottleneck(found, SETTINGS, rate=4000)
    assert named.kind is Kind.SINK, named
    assert "writing takes" in named.evidence
    assert driver.terminate() == 0
    delivered_once(far, OUT, made)


@pytest.mark.parametrize("function", ["transform", "calls"])
def test_slow_work_shows_as_such_and_is_done_once_for_each_record(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], function: str
) -> None:
    sample: dict[str, Any] = {"module": f"trimtab.job.samples:{function}"}
    driver = make_driver(transform=sample | {"params": {"wait_ms": "4"}})
    made = produce(broker.bootstrap, topics[0], [(1.0, 4000)])
    found = timed(driver, made.acknowledged)
    assert found["sink_ratio"] < 0.35
    assert bottleneck(found, SETTINGS, rate=4000).kind is not Kind.SINK
    if function == "calls":
        calls = driver.metrics()['pending_call_seconds_count{stage="upper"}']
        assert calls == made.acknowledged, "none of them twice"
    assert driver.terminate() == 0
    delivered_once(broker.bootstrap, topics[1], made)

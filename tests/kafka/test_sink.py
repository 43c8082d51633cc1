"""Writing to a Kafka far away: its share of a batch, and the order when connections break."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.producer.place import proxied
from bench.producer.proxy import DelayingProxy
from confluent_kafka.admin import AdminClient, NewTopic
from dev.kafka import KafkaBroker
from dev.loadgen.produce import Summary, produce
from dev.loadgen.records import identity
from dev.loadgen.verify import read_all, read_messages, verify
from tests.kafka.diagnosis import bottleneck
from tests.kafka.driver import Driver
from tests.long import LONG

from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.job.batches.timing import FIRST
from trimtab.tuning.settings import Settings

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]

ROUND_TRIP_MS, SHORT_MS = 1000.0, 20.0
OUT, ORDERED = "out", "ordered"
KNOBS = {"trigger": "200ms", "maxOffsetsPerTrigger": 400}
SETTINGS = Settings(executors=1, trigger_s=0.2, max_offsets=400)
COMPUTE, SINK, WORK = (
    f'batch_duration_seconds{{phase="{phase}"}}' for phase in ("compute", "sink", "add_batch")
)


@pytest.fixture(scope="module")
def ways() -> Iterator[dict[float, DelayingProxy]]:
    """A broker with its topics, by how long its answers take."""
    with proxied([ROUND_TRIP_MS, SHORT_MS]) as proxies:
        admin = AdminClient({"bootstrap.servers": proxies[SHORT_MS].address, "log_level": 0})
        made = admin.create_topics([NewTopic(OUT, 4, 1), NewTopic(ORDERED, 1, 1)])
        for each in made.values():
            each.result(30)
        yield proxies


@pytest.fixture
def far(ways: dict[float, DelayingProxy]) -> str:
    """The address of that broker by which its answers take a while."""
    return ways[ROUND_TRIP_MS].address


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


@LONG
def test_a_slow_kafka_shows_in_the_share_of_the_sink_and_is_named(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], far: str
) -> None:
    sink = {"kind": "kafka", "bootstrapServers": far, "topic": OUT}
    driver = make_driver(sink=sink, transform={"sql": "SELECT * FROM source"})
    made = produce(broker.bootstrap, topics[0], [(1.0, 4000)])
    found = timed(driver, made.acknowledged)
    assert found["sink_ratio"] > 0.5
    more = produce(broker.bootstrap, topics[0], [(1.0, 800)])  # the last batch may be a timed one
    metrics = driver.until(lambda m: m.get("batch_timed") == 0 and SINK not in m)
    assert metrics["sink_ratio"] > 0.5, "what was measured is known meanwhile"
    named = bottleneck(found, SETTINGS, rate=4000)
    assert named.kind is Kind.SINK, named
    assert "writing takes" in named.evidence
    driver.until(driver.committed(made.acknowledged + more.acknowledged))
    assert driver.terminate() == 0
    delivered_once(far, OUT, made)
    delivered_once(far, OUT, more)


@pytest.mark.parametrize("function", [pytest.param("transform", marks=LONG), "calls"])
def test_slow_work_shows_as_such_and_is_done_once_for_each_record(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], function: str
) -> None:
    sample: dict[str, Any] = {"module": f"trimtab.transforms.samples:{function}"}
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


def test_the_order_of_a_partition_holds_while_connections_break(
    broker: KafkaBroker, tmp_path: Path, make_driver: Callable[..., Driver],
    ways: dict[float, DelayingProxy],
) -> None:  # fmt: skip
    """Five requests are in flight whenever one breaks: what is sent again comes neither twice nor
    out of order, as the producer is idempotent."""
    topic, way = f"{tmp_path.name}-in", ways[SHORT_MS]
    broker.create_topic(topic, 1)
    driver = make_driver(
        source={"bootstrapServers": broker.bootstrap, "topics": [topic]},
        sink={"kind": "kafka", "bootstrapServers": way.address, "topic": ORDERED},
        transform={"sql": "SELECT * FROM source"},
    )
    sending = {"maxInFlight": 5, "batchSize": 2048}
    driver.settings(trigger="0s", maxOffsetsPerTrigger=5000, producer=sending)
    made = produce(broker.bootstrap, topic, [(1.0, 40_000)])
    driver.start()
    driver.until(lambda m: m.get("batches_total", 0) >= 1)
    done, broken = driver.committed(made.acknowledged), 0
    while not done(driver.metrics()):
        broken += way.cut()
        time.sleep(0.3)
    assert broken >= 5
    assert driver.terminate() == 0
    found = [identity(v) for v in read_all(way.address, ORDERED)]
    assert found == [(made.run, sequence) for sequence in range(made.sequences)]


def test_records_without_a_key_go_to_all_partitions_of_the_sink(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    """The producer of a task fills a batch for one partition after the other."""
    without = {"sql": "SELECT CAST(NULL AS BINARY) AS key, value FROM source"}
    driver = make_driver(transform=without)
    driver.settings(trigger="0s", maxOffsetsPerTrigger=5000, producer={"batchSize": 2048})
    made = produce(broker.bootstrap, topics[0], [(1.0, 8000)])
    driver.start()
    driver.until(driver.committed(made.acknowledged))
    assert driver.terminate() == 0
    delivered_once(broker.bootstrap, topics[1], made)
    messages = list(read_messages(broker.bootstrap, topics[1]))
    assert {message.key() for message in messages} == {None}
    into = Counter(message.partition() for message in messages)
    assert len(into) == 4
    assert min(into.values()) > made.acknowledged / 20, into

"""The knobs of source, sink and locality against a real broker and a real Spark."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from dev.kafka import KafkaBroker
from dev.loadgen.produce import produce
from dev.loadgen.verify import read_all, verify
from tests.kafka.driver import Driver

from trimtab.api.connection import KafkaConnection
from trimtab.api.knobs import NODE, PROCESS, ZONE
from trimtab.job.executors.placement import Places
from trimtab.kafka.admin import KafkaAdmin

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]

BASE = {"trigger": "100ms", "maxOffsetsPerTrigger": 400}
PRODUCER = {
    "lingerMs": "linger.ms",
    "batchSize": "batch.size",
    "maxInFlight": "max.in.flight.requests.per.connection",
    "compression": "compression.type",
}


LOGGING = """
rootLogger.level = warn
rootLogger.appenderRef.err.ref = err
logger.clients.name = org.apache.kafka.clients
logger.clients.level = info
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = %p %c{1}: %m%n
"""
"""What Kafka's clients say of themselves: with which options they were made, and that they end."""


def with_log_of_clients(directory: Path, **conf: str) -> dict[str, str]:
    """Spark's keys for a driver that logs that."""
    file = directory / "log4j2.properties"
    file.write_text(LOGGING)
    options = f"-Dlog4j2.configurationFile={file} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    return conf | {"spark.driver.extraJavaOptions": options}


def grow(broker: KafkaBroker, topic: str, partitions: int) -> None:
    """As the topics Job of a KafkaCluster does."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    (done,) = admin.create_partitions([NewPartitions(topic, partitions)]).values()
    done.result(15)


def settled(driver: Driver, generation: int) -> dict[str, float]:
    """The metrics once a batch ran wholly at these settings."""
    return driver.until(lambda m: m.get("batch_settings_generation") == generation)


WHICH_TASK = {
    "sql": "SELECT concat_ws(' ', CAST(value AS STRING), unix_micros(current_timestamp()),"
    " spark_partition_id()) AS value FROM source"
}
"""Each value tells its batch, by the time that is the same all over it, and the task it went by."""


def tasks_by_batch(broker: KafkaBroker, topic: str) -> list[int]:
    """How many tasks read a batch, one after the other; what stays the same is said once."""
    tasks: dict[int, set[bytes]] = {}
    for value in read_all(broker.bootstrap, topic):
        _, batch, task = (value or b"").rsplit(b" ", 2)
        tasks.setdefault(int(batch), set()).add(task)
    return [count for count, _ in groupby(len(tasks[batch]) for batch in sorted(tasks))]


def clients(driver: Driver, kind: str) -> list[dict[str, str]]:
    """The configuration of every Kafka client of a kind that Spark made, as Kafka logs it."""
    log = driver.log.read_text()
    blocks = re.findall(rf"INFO {kind}Config: {kind}Config values: \n((?:\t.*\n)+)", log)
    return [dict(re.findall(r"\t(\S+) = (.*)\n", block)) for block in blocks]


def test_producer_options_change_live_and_old_producers_are_closed(
    broker: KafkaBroker,
    topics: tuple[str, str],
    make_driver: Callable[..., Driver],
    tmp_path: Path,
) -> None:
    conf = {
        "spark.kafka.producer.cache.timeout": "1s",
        "spark.kafka.producer.cache.evictorThreadRunInterval": "200ms",
    }
    driver = make_driver(defaults=with_log_of_clients(tmp_path, **conf))
    first = driver.settings(**BASE)
    made = produce(broker.bootstrap, topics[0], [(0.5, 20_000)])
    driver.start()
    metrics = settled(driver, first)
    knobs = {k for k in metrics if k.startswith("effective_number")}
    assert knobs == {
        'effective_number{knob="trigger"}', 'effective_number{knob="maxOffsetsPerTrigger"}',
    }  # fmt: skip

    changes = [
        {"lingerMs": 5 * n, "batchSize": 32768, "maxInFlight": n, "compression": word}
        for n, word in enumerate(("lz4", "zstd", "snappy"), 1)
    ]
    for producer in changes:
        metrics = settled(driver, driver.settings(**BASE, producer=producer))
    assert metrics["run_number"] == 1, "no restart"
    assert metrics['changes_total{how="live"}'] == 3
    assert metrics['effective{knob="producer.compression",value="snappy"}'] == 1
    refused = driver.settings(**BASE, producer={"maxInFlight": 6})
    driver.until(lambda m: m.get("settings_rejected_generation") == refused)
    assert "settings.producer.maxInFlight: Input should be less than or equal to 5" in driver.tail()

    driver.settings(trigger="100ms", maxOffsetsPerTrigger=50_000)
    driver.until(driver.committed(made.acknowledged))
    asked = [{name: str(producer[knob]) for knob, name in PRODUCER.items()} for producer in changes]
    options = clients(driver, "Producer")
    seen = [{name: client[name] for name in PRODUCER.values()} for client in options]
    # one that is not used for longer than the cache keeps it is opened again
    in_turn = [options for options, _ in groupby(s for s in seen if s in asked)]
    assert in_turn == asked, "each change is used from then on"
    assert {client["enable.idempotence"] for client in options} == {"true"}
    driver.until(lambda _: driver.log.read_text().count("Closing the Kafka producer") >= 4)
    assert driver.terminate() == 0
    found = verify(broker.bootstrap, topics[1], made.run, made.sequences, frozenset())
    assert (found.lost, found.duplicated, found.delivered) == (0, 0, made.acknowledged)


def test_source_options_split_what_a_task_reads(
    broker: KafkaBroker,
    topics: tuple[str, str],
    make_driver: Callable[..., Driver],
    tmp_path: Path,
) -> None:
    driver = make_driver(defaults=with_log_of_clients(tmp_path), transform=WHICH_TASK)
    scope = {"locality": {"scope": "Process"}}
    first = driver.settings(**BASE, **scope)
    made = produce(broker.bootstrap, topics[0], [(0.5, 24_000)])
    driver.start()
    settled(driver, first)
    driver.until(lambda m: m.get("locality_wait_inert") == 0)
    metrics = settled(driver, driver.settings(**BASE, **scope, minPartitions=12))
    assert metrics["run_number"] == 2
    assert metrics["locality_wait_inert"] == 1, "a split range has no near executor"
    metrics = settled(driver, driver.settings(**BASE, maxRecordsPerPartition=60))
    assert "locality_wait_inert" not in metrics
    fetch = {"maxPartitionBytes": 65536, "maxBytes": 262144}
    metrics = settled(driver, driver.settings(**BASE, fetch=fetch))
    assert metrics["run_number"] == 4
    last = clients(driver, "Consumer")[-1]
    assert (last["max.partition.fetch.bytes"], last["fetch.max.bytes"]) == ("65536", "262144")
    driver.settings(trigger="100ms", maxOffsetsPerTrigger=100_000)
    driver.until(driver.committed(made.acknowledged))
    assert driver.terminate() == 0
    found = verify(broker.bootstrap, topics[1], made.run, made.sequences, frozenset())
    assert (found.lost, found.duplicated, found.delivered) == (0, 0, made.acknowledged)
    assert tasks_by_batch(broker, topics[1]) == [4, 12, 8, 4]


def test_partitions_that_a_topic_gains_are_read_from_the_next_batch_on(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    driver = make_driver(transform=WHICH_TASK)
    driver.settings(**BASE)
    first = produce(broker.bootstrap, topics[0], [(0.5, 8_000)])
    driver.start()
    driver.until(driver.committed(first.acknowledged))
    grow(broker, topics[0], 6)
    driver.until(lambda m: len([k for k in m if k.startswith("partition_input_total{")]) == 6)
    second = produce(broker.bootstrap, topics[0], [(0.5, 8_000)])
    whole = first.acknowledged + second.acknowledged
    metrics = driver.until(driver.committed(whole))
    assert metrics["run_number"] == 1, "no restart"
    assert metrics["ledger_mismatch_total"] == 0
    new = [m for k, m in metrics.items() if re.match(r'partition_input_total.*partition="[45]"', k)]
    assert min(new) > 0
    assert driver.terminate() == 0
    for made in (first, second):
        found = verify(broker.bootstrap, topics[1], made.run, made.sequences, frozenset())
        assert (found.lost, found.duplicated) == (0, 0)
    assert max(tasks_by_batch(broker, topics[1])) == 6


def test_the_places_of_the_partitions_are_the_racks_of_their_leaders(
    broker: KafkaBroker, topics: tuple[str, str]
) -> None:
    nodes = {"127": "node-1"}  # as if the broker's address began with the name of its pod
    places = Places(KafkaAdmin(KafkaConnection(broker.bootstrap), 10), list(topics), nodes.get)
    assert places(ZONE) == {"zone-a": 8}
    assert places(NODE) == {"node-1": 8}
    assert places(PROCESS) == {}

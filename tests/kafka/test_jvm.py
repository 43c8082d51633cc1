"""What a real driver tells of its JVM while its query allocates."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.produce import produce
from tests.kafka.driver import Driver
from tests.long import LONG

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]

GARBAGE = {"sql": "SELECT key, sha2(repeat(CAST(value AS STRING), 2000), 256) AS value FROM source"}
NEW = 'jvm_collections_total{generation="new",role="driver"}'
NEW_S = 'jvm_collection_seconds_total{generation="new",role="driver"}'
ALLOCATED = 'jvm_allocated_bytes_total{role="driver"}'
SECONDS = 'jvm_seconds_total{role="driver"}'


@pytest.mark.parametrize("collector", [pytest.param("Serial", marks=LONG), "G1"])
def test_collections_are_counted_whatever_the_collector(
    broker: KafkaBroker,
    topics: tuple[str, str],
    make_driver: Callable[..., Driver],
    collector: str,
) -> None:
    options = f"-XX:TieredStopAtLevel=1 -XX:+Use{collector}GC"
    driver = make_driver(transform=GARBAGE, defaults={"spark.driver.extraJavaOptions": options})
    driver.settings(trigger="0s", maxOffsetsPerTrigger=1000)
    produce(broker.bootstrap, topics[0], [(2.0, 20_000)])
    driver.start()
    metrics = driver.until(lambda m: m.get(NEW, 0) > 0 and m.get(ALLOCATED, 0) > 0, 120)
    assert 0 < metrics[NEW_S] < metrics[SECONDS]
    assert metrics[f'jvm_collector{{collector="{collector}",role="driver"}}'] == 1
    limit = metrics['jvm_heap_limit_bytes{role="driver"}']
    assert 500e6 < limit <= 640 * 2**20
    assert 0 < metrics['jvm_heap_peak_bytes{role="driver"}'] <= 640 * 2**20
    assert metrics[ALLOCATED] / metrics[NEW] < limit
    assert 'jvm_seconds_total{role="executor"}' not in metrics, "in local mode there are none"
    assert driver.terminate() == 0

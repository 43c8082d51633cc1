"""Two streams joined: two topics of one Kafka, told apart by the column topic."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable

import pytest
import yaml
from confluent_kafka import Producer
from dev.kafka import KafkaBroker
from dev.loadgen.verify import read_all
from tests.kafka.driver import REPO, Driver
from tests.long import LONG

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]

EXAMPLE = REPO / "examples/90-joined-streams"
WITHIN = {"late": "20 minutes", "within": "10 minutes"}
T0_MS = int(time.time() * 1000) - 3_600_000


def send(broker: KafkaBroker, topic: str, numbers: Iterable[int], late_s: float = 0) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for n in numbers:
        at_ms = T0_MS + int(1000 * (n + late_s))
        producer.produce(topic, f"{topic[:2]}-{n}", f"k{n}", timestamp=at_ms)
    assert producer.flush(30) == 0


def pairs(broker: KafkaBroker, topic: str) -> list[str]:
    return [json.loads(value or b"")["id"] for value in read_all(broker.bootstrap, topic)]


@LONG
def test_two_topics_are_joined_exactly_over_a_killed_driver(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    orders, payments = topics[0], f"{topics[0]}-payments"
    broker.create_topic(payments, 4)
    driver = make_driver(
        source={"bootstrapServers": broker.bootstrap, "topics": [orders, payments]},
        transform={
            "module": "joins:transform",
            "params": {"orders": orders, "payments": payments} | WITHIN,
        },
    )
    modules = yaml.safe_load((EXAMPLE / "transform.yaml").read_text())["data"]
    (driver.directory / "modules").mkdir()
    (driver.directory / "modules" / "joins.py").write_text(modules["joins.py"])
    driver.settings(trigger="200ms", maxOffsetsPerTrigger=200)
    send(broker, orders, range(300))
    send(broker, payments, range(0, 300, 2), late_s=5)
    driver.start()
    metrics = driver.until(driver.committed(450))
    assert metrics["records_total"] == 450, "although each is read twice"
    driver.kill()
    send(broker, payments, range(1, 300, 2), late_s=6)
    driver.start()
    metrics = driver.until(driver.committed(150))
    assert metrics["records_total"] == 150
    assert metrics["late_records_total"] == 0
    assert driver.terminate() == 0
    found = pairs(broker, topics[1])
    assert sorted(found) == sorted(f"k{n}" for n in range(300))

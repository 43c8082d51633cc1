"""Several sources of different Kafkas in one query, whose topics have the same name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from dev.kafka import KafkaBroker
from dev.loadgen.verify import read_messages
from tests.kafka.driver import Driver
from tests.long import LONG

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]
TOPIC = "orders"
UNION = """
SELECT 'eu' AS region, CAST(value AS STRING) AS id FROM europe
UNION ALL SELECT 'us', CAST(value AS STRING) FROM america
"""
WRITTEN = f"SELECT region AS key, concat(region, '-', id) AS value FROM ({UNION})"


@pytest.fixture(scope="module")
def america(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A second Kafka."""
    made = KafkaBroker(tmp_path_factory.mktemp("america"))
    made.start()
    made.create_topic(TOPIC, 2)
    yield made
    made.stop()


@pytest.fixture
def europe(broker: KafkaBroker) -> KafkaBroker:
    """The Kafka of all tests, with the topic anew."""
    if TOPIC not in broker.admin().list_topics(timeout=10).topics:
        broker.create_topic(TOPIC, 4)
    return broker


def send(broker: KafkaBroker, numbers: range, topic: str = TOPIC) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in numbers:
        producer.produce(topic, f"{number}", f"k{number}")
    assert producer.flush(30) == 0


def source(name: str, broker: KafkaBroker, topic: str = TOPIC) -> dict[str, Any]:
    of = {"bootstrapServers": broker.bootstrap, "topics": [topic]}
    return {"name": name, "source": of, "startingOffsets": "earliest"}


def several(europe: KafkaBroker, america: KafkaBroker) -> dict[str, Any]:
    both = [source("europe", europe), source("america", america)]
    return {"kind": "several", "sources": both}


def read(broker: KafkaBroker, topic: str) -> Counter[str]:
    return Counter((m.value() or b"").decode() for m in read_messages(broker.bootstrap, topic))


def expected(europe: int, america: int) -> Counter[str]:
    return Counter([*(f"eu-{n}" for n in range(europe)), *(f"us-{n}" for n in range(america))])


def test_two_kafkas_are_read_exactly_over_a_planned_restart_and_a_kill(
    europe: KafkaBroker, america: KafkaBroker, topics: tuple[str, str],
    make_driver: Callable[..., Driver],
) -> None:  # fmt: skip
    send(europe, range(300))
    send(america, range(200))
    driver = make_driver(
        schema=2, transform={"sql": WRITTEN},
        source=several(europe, america),
    )  # fmt: skip
    driver.settings(trigger="100ms", maxOffsetsPerTrigger=60)
    driver.start()
    metrics = driver.until(driver.committed(500))
    lags = {key: value for key, value in metrics.items() if key.startswith("lag_records{")}
    of = Counter(key.partition('topic="')[2].partition('"')[0] for key in lags)
    assert of == {f"europe/{TOPIC}": 4, f"america/{TOPIC}": 2}
    assert metrics["batch_records"] <= 60
    assert metrics['source_lag_records{source="america"}'] == 0
    driver.settings(trigger="200ms", maxOffsetsPerTrigger=90)
    send(america, range(200, 260))
    driver.until(lambda m: m.get("records_total") == 560 and driver.committed(560)(m))
    assert driver.terminate() == 0
    assert read(europe, topics[1]) == expected(300, 260)
    send(europe, range(300, 400))
    driver.start()
    driver.until(driver.committed(100))
    driver.kill()
    send(america, range(260, 300))
    driver.start()
    driver.until(driver.committed(40))
    assert driver.terminate() == 0
    assert set(read(europe, topics[1])) == set(expected(400, 300)), "nothing is lost"


def test_a_function_gets_all_frames_and_a_join_needs_no_second_query(
    broker: KafkaBroker, america: KafkaBroker, topics: tuple[str, str],
    make_driver: Callable[..., Driver],
) -> None:  # fmt: skip
    america.create_topic("payments", 1)
    driver = make_driver(
        schema=2, transform={"module": "pairs:transform"},
        source={
            "kind": "several",
            "sources": [source("orders", broker, topics[0]), source("paid", america, "payments")],
        },
    )  # fmt: skip
    (driver.directory / "modules").mkdir()
    (driver.directory / "modules" / "pairs.py").write_text(PAIRS)
    send(broker, range(50), topics[0])
    send(america, range(0, 50, 2), "payments")
    driver.settings(trigger="200ms", maxOffsetsPerTrigger=1000)
    driver.start()
    driver.until(driver.committed(75))
    assert driver.terminate() == 0
    found = [json.loads(m.value() or b"") for m in read_messages(broker.bootstrap, topics[1])]
    assert sorted(row["n"] for row in found) == list(range(0, 50, 2))


PAIRS = """
from pyspark.sql import functions as F


def transform(frames, params):
    orders = frames["orders"].selectExpr("key AS id", "INT(STRING(value)) AS n", "timestamp AS at")
    paid = frames["paid"].selectExpr("key AS of", "timestamp AS paid")
    both = orders.withWatermark("at", "1 hour").join(
        paid.withWatermark("paid", "1 hour"),
        F.expr("id = of AND paid BETWEEN at - INTERVAL 1 HOUR AND at + INTERVAL 1 HOUR"))
    return both.select("id", F.to_json(F.struct("n")).alias("value"))
"""


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (WRITTEN.replace("'us', CAST(value AS STRING) FROM america", "'us', 'x' FROM europe"),
         "america of the sources is not read by the transform"),
        pytest.param("SELECT 1 AS value", "select from `europe` and `america`", marks=LONG),
        pytest.param("SELECT value FROM source", "the SQL does not work", marks=LONG),
    ],
)  # fmt: skip
def test_a_source_that_is_not_read_is_told(
    europe: KafkaBroker, america: KafkaBroker, make_driver: Callable[..., Driver], sql: str,
    words: str,
) -> None:  # fmt: skip
    driver = make_driver(
        schema=2, transform={"sql": sql},
        source=several(europe, america),
    )  # fmt: skip
    driver.settings(trigger="200ms", maxOffsetsPerTrigger=1000)
    driver.start()
    told = driver.termination()
    assert words in told["message"], told


@LONG
def test_another_order_of_the_sources_needs_a_new_generation(
    europe: KafkaBroker, america: KafkaBroker, make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    place = str(tmp_path / "g1" / "query")
    asked = {"schema": 2, "source": several(europe, america), "checkpointUri": place}
    send(america, range(1000, 1010))
    driver = make_driver(transform={"sql": WRITTEN}, **asked)
    driver.settings(trigger="200ms", maxOffsetsPerTrigger=10_000)
    driver.start()
    driver.until(lambda m: m.get("batches_total", 0) > 0)
    assert driver.terminate() == 0
    one, two = (part.strip() for part in UNION.split("UNION ALL"))
    turned = f"{two.replace(chr(39) + 'us' + chr(39), chr(39) + 'us' + chr(39) + ' AS region')}"
    sql = f"SELECT region AS key, id AS value FROM ({turned} AS id UNION ALL {one})".replace(
        "CAST(value AS STRING) FROM america AS id", "CAST(value AS STRING) AS id FROM america"
    )
    other = make_driver(transform={"sql": sql}, **asked)
    other.settings(trigger="200ms", maxOffsetsPerTrigger=10_000)
    other.start()
    told = other.termination()
    assert told["reason"] == "CheckpointIncompatible"
    assert "restore the order in which the query names its sources" in told["message"]

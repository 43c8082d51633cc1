"""Single records for which the transform raises: named, or set aside, and nothing else is lost."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest
from confluent_kafka import Producer
from dev.kafka import KafkaBroker
from dev.loadgen.verify import read_messages
from tests.kafka.driver import Driver
from tests.long import LONG

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]

SQL = """
SELECT key, CAST(CAST(CAST(value AS STRING) AS INT) + 1 AS STRING) AS value,
       topic, partition, offset
FROM source
"""
KNOBS = {"trigger": "100ms", "maxOffsetsPerTrigger": 400}
PARTITIONS = 4

PYTHON = """
from pyspark.sql import functions as F


def transform(df, params):
    def half(value):
        number = int(value)
        if number % 2:
            raise ArithmeticError(f"{number} has no half")
        return str(number // 2)

    return df.select("key", F.udf(half)("record.n").alias("value"), "topic", "partition", "offset")
"""


def send(broker: KafkaBroker, topic: str, values: Collection[bytes]) -> dict[bytes, str]:
    """Records in turn to each partition; where those are that are unlike all others."""
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    places = {}
    for number, value in enumerate(values):
        partition = number % PARTITIONS
        producer.produce(topic, value, b"k", partition, headers=[("trace", b"\x01")])
        places[value] = f"{topic}/{partition} at {number // PARTITIONS}"
    assert producer.flush(30) == 0
    return places


def with_bad(good: list[bytes], bad: Collection[bytes], every: int) -> list[bytes]:
    """The good ones with one of the bad ones after each so many."""
    mixed = list(good)
    for number, value in enumerate(bad):
        mixed.insert((number + 1) * every, value)
    return mixed


def numbers(broker: KafkaBroker, topic: str) -> list[int]:
    return sorted(int(m.value() or b"") for m in read_messages(broker.bootstrap, topic))


def headers(broker: KafkaBroker, topic: str) -> dict[bytes, dict[str, str]]:
    """Of each dead letter, by its value."""
    found = list(read_messages(broker.bootstrap, topic))
    assert {m.key() for m in found} <= {b"k"}
    return {
        m.value() or b"": {name: each.decode() for name, each in m.headers() or []} for m in found
    }


def works_off(driver: Driver, records: int, dead: int) -> None:
    """Have it read all, of which so many are dead letters, and end; nothing else is missing."""
    last = driver.until(driver.committed(records))
    assert (last["records_total"], last["dead_letters_total"]) == (records, dead)
    assert last["ledger_mismatch_total"] == 0
    driver.until(lambda m: m.get("missing_records") == 0)
    assert driver.terminate() == 0


def test_the_record_at_which_a_batch_dies_is_named(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    values = with_bad([b"%d" % n for n in range(300)], [b"twelve"], 201)
    places = send(broker, topics[0], values)
    driver = make_driver(transform={"sql": SQL})
    driver.settings(**KNOBS)
    driver.start()
    told = driver.termination()
    assert told["reason"] == "QueryFailed"
    assert told["message"].startswith(f"{places[b'twelve']}, in batch 0: "), told["message"]
    assert "CAST_INVALID_INPUT" in told["message"]
    assert "deadLetters: {topic: ...}" in told["message"]


@LONG
def test_records_for_which_sql_raises_go_to_the_dead_letters(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    """Not one column or function says so: the transform is as it always was."""
    dead, bad = f"{topics[1]}-dead", [b"twelve", b"", b"1e9", b"9999999999"]
    broker.create_topic(dead, 1)
    values = with_bad([b"%d" % n for n in range(3000)], bad, 601)
    places = send(broker, topics[0], values)
    driver = make_driver(
        schema=2, transform={"sql": SQL}, deadLetters={"topic": dead, "maxPerBatch": 4}
    )
    driver.settings(**KNOBS)
    driver.start()
    works_off(driver, len(values), len(bad))
    assert numbers(broker, topics[1]) == list(range(1, 3001))
    found = headers(broker, dead)
    assert set(found) == set(bad)
    for value, said in found.items():
        place = f"{said['trimtab.topic']}/{said['trimtab.partition']} at {said['trimtab.offset']}"
        assert place == places[value]
        assert "CAST_" in said["trimtab.error"]
        assert said["trace"] == "\x01"


@LONG
def test_python_that_raises_and_what_cannot_be_decoded_go_there_together(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    dead = f"{topics[1]}-dead"
    broker.create_topic(dead, 1)
    good = [b'{"n": %d}' % n for n in range(0, 1200, 2)]
    bad = [b'{"n": 7}', b"no", b'{"n": 11}']
    values = with_bad(good, bad, 151)
    send(broker, topics[0], values)
    source: dict[str, Any] = {
        "bootstrapServers": broker.bootstrap,
        "topics": [topics[0]],
        "format": {"json": {"schema": "n INT"}},
    }
    driver = make_driver(
        schema=2,
        source=source,
        transform={"module": "halves:transform"},
        deadLetters={"topic": dead, "maxPerBatch": 3},
    )
    (driver.directory / "modules").mkdir()
    (driver.directory / "modules" / "halves.py").write_text(PYTHON)
    driver.settings(**KNOBS)
    driver.start()
    works_off(driver, len(values), len(bad))
    assert numbers(broker, topics[1]) == list(range(600))
    found = headers(broker, dead)
    assert set(found) == set(bad)
    assert "ArithmeticError: 7 has no half" in found[bad[0]]["trimtab.error"]
    assert "it is not one JSON object" in found[b"no"]["trimtab.error"]


@LONG
def test_a_transform_that_fails_for_all_records_stalls_with_the_first(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    dead = f"{topics[1]}-dead"
    broker.create_topic(dead, 1)
    places = send(broker, topics[0], [b"a%d" % n for n in range(100)])
    driver = make_driver(
        schema=2, transform={"sql": SQL}, deadLetters={"topic": dead, "maxPerBatch": 3}
    )
    driver.settings(**KNOBS)
    driver.start()
    told = driver.termination()
    assert told["reason"] == "TooManyDeadLetters"
    assert f"The first: {places[b'a0']}: " in told["message"]
    assert headers(broker, dead) == {}
    assert numbers(broker, topics[1]) == []

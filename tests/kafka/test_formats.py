"""Values that are decoded: what the transform gets, and what becomes of those that are no such."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer
from dev.kafka import KafkaBroker
from dev.loadgen.verify import read_messages
from tests.kafka.driver import Driver
from tests.kafka.registry import Registry

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]

KNOBS = {"trigger": "100ms", "maxOffsetsPerTrigger": 200}
SQL = "SELECT record.id AS key, to_json(record) AS value, topic, partition, offset FROM source"
DDL = "id STRING NOT NULL, amount DOUBLE, tags ARRAY<STRING>"
ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "string"}, {"name": "amount", "type": "long"}],
}
WITH_TAG: dict[str, Any] = {
    **ORDER,
    "fields": [*ORDER["fields"], {"name": "tag", "type": "string", "default": "none"}],
}
RECURSIVE = json.dumps(
    {"type": "record", "name": "Tree", "fields": [{"name": "left", "type": ["null", "Tree"]}]}
)


def number(value: int) -> bytes:
    """Avro's long: zigzag, seven bits in each byte."""
    rest, out = (value << 1) ^ (value >> 63), bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def order(id_: str, amount: int, tag: str | None = None) -> bytes:
    """Avro of ORDER, or of WITH_TAG."""
    more = b"" if tag is None else number(len(tag)) + tag.encode()
    return number(len(id_)) + id_.encode() + number(amount) + more


def framed(schema: int, avro: bytes) -> bytes:
    return b"\x00" + schema.to_bytes(4, "big") + avro


def send(bootstrap: str, topic: str, *values: bytes | None, **more: Any) -> None:
    """Produce values, each to the next of four partitions."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for place, value in enumerate(values):
        producer.produce(topic, value, partition=place % 4, **more)
    assert producer.flush(30) == 0


def written(broker: KafkaBroker, topic: str) -> list[dict[str, Any]]:
    found = [json.loads(m.value() or b"") for m in read_messages(broker.bootstrap, topic)]
    return sorted(found, key=lambda row: row["id"])


@pytest.fixture
def reading(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> Callable[..., Driver]:
    """A started driver whose source has this format."""

    def make(format_: dict[str, Any], **job: Any) -> Driver:
        source = {"bootstrapServers": broker.bootstrap, "topics": [topics[0]], "format": format_}
        driver = make_driver(**{"schema": 2, "source": source, "transform": {"sql": SQL}, **job})
        driver.settings(**KNOBS)
        driver.start()
        return driver

    return make


def test_json_becomes_a_struct_and_the_first_value_that_is_none_stops_the_pipeline(
    broker: KafkaBroker, topics: tuple[str, str], reading: Callable[..., Driver]
) -> None:
    good = [b'{"id": "%d", "amount": %d.5, "tags": ["a"], "more": 1}' % (n, n) for n in range(40)]
    send(broker.bootstrap, topics[0], *good)
    driver = reading({"json": {"schema": DDL}})
    last = driver.until(driver.committed(len(good)))
    assert last["ledger_mismatch_total"] == 0
    rows = written(broker, topics[1])
    assert rows == sorted(
        ({"id": str(n), "amount": n + 0.5, "tags": ["a"]} for n in range(40)),
        key=lambda row: row["id"],
    )
    send(broker.bootstrap, topics[0], b'{"id": "x"}', b'{"id": "x"} {"id": "y"}')
    told = driver.termination()
    assert told["reason"] == "RecordUndecodable"
    place = f"the value of {topics[0]}/1 at 10: it is not one JSON object of this schema."
    assert place in told["message"]
    assert "deadLetters: {topic: ...}" in told["message"]
    assert '"y"' not in told["message"], "values stay out of messages"
    kept = {row["id"] for row in written(broker, topics[1])}
    assert kept <= {str(n) for n in range(40)} | {"x"}


def test_avro_is_read_with_the_schema_that_it_was_written_with(
    broker: KafkaBroker, topics: tuple[str, str], reading: Callable[..., Driver]
) -> None:
    """One of them comes while the query runs: nothing is lost, and nobody has to do anything."""
    with Registry() as registry:
        registry.add(7, ORDER, f"{topics[0]}-value")
        first = [framed(7, order(f"a{n}", n)) for n in range(20)]
        send(broker.bootstrap, topics[0], *first)
        avro = {"schema": json.dumps(WITH_TAG), "schemaRegistry": {"url": registry.url}}
        driver = reading({"avro": avro})
        driver.until(driver.committed(20))
        registry.add(300, WITH_TAG)
        second = [framed(300, order(f"b{n}", n, "new")) for n in range(20)]
        send(broker.bootstrap, topics[0], *first[:4], *second)
        driver.until(driver.committed(44))
        assert driver.terminate() == 0
    rows = {(row["id"], row["amount"], row["tag"]) for row in written(broker, topics[1])}
    assert rows == {(f"a{n}", n, "none") for n in range(20)} | {
        (f"b{n}", n, "new") for n in range(20)
    }
    assert registry.asked.count("/schemas/ids/300") == 1
    assert "SchemaUnknown" in driver.log.read_text()


@pytest.mark.parametrize(
    ("format_", "words"),
    [
        ({"json": {"schema": "id STRINGG"}}, "json.schema cannot be used: [UNSUPPORTED_DATATYPE]"),
        ({"json": {"schema": "id, amount"}}, "json.schema cannot be used: [PARSE_SYNTAX_ERROR]"),
        ({"json": {"schema": "INT"}}, "json.schema cannot be used: "),
        ({"avro": {"schema": '{"type": "recor"}'}}, "avro.schema cannot be used"),
        ({"avro": {"schema": RECURSIVE}}, "avro.schema cannot be used: Found recursive"),
        (
            {"avro": {"schema": '{"type": "string"}'}},
            "its type is string: write one of type record",
        ),
    ],
)
def test_a_schema_that_is_none_is_told(
    reading: Callable[..., Driver], format_: dict[str, Any], words: str
) -> None:
    told = reading(format_).termination()
    assert (told["reason"], words in told["message"]) == ("FormatInvalid", True), told


def test_a_registry_that_is_away_is_waited_for(
    broker: KafkaBroker, topics: tuple[str, str], reading: Callable[..., Driver]
) -> None:
    with Registry() as registry:
        registry.add(7, ORDER, f"{topics[0]}-value")
        registry.status = 503
        send(broker.bootstrap, topics[0], framed(7, order("a", 1)))
        avro = {"schema": json.dumps(ORDER), "schemaRegistry": {"url": registry.url}}
        driver = reading({"avro": avro})
        driver.until(lambda _: "SchemaRegistryUnreachable" in driver.get("/ready")[1])
        assert "answered 503" in driver.get("/ready")[1]
        registry.status = None
        driver.until(driver.committed(1))
        assert driver.terminate() == 0

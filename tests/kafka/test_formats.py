"""Values that are decoded: what the transform gets, and what becomes of those that are no such."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer
from dev.kafka import KafkaBroker
from dev.loadgen.verify import read_messages
from tests.kafka.driver import REPO, Driver
from tests.kafka.registry import Registry
from tests.long import LONG

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
        pytest.param(
            {"json": {"schema": "id, amount"}},
            "json.schema cannot be used: [PARSE_SYNTAX_ERROR]",
            marks=LONG,
        ),
        pytest.param({"json": {"schema": "INT"}}, "json.schema cannot be used: ", marks=LONG),
        pytest.param(
            {"avro": {"schema": '{"type": "recor"}'}}, "avro.schema cannot be used", marks=LONG
        ),
        ({"avro": {"schema": RECURSIVE}}, "avro.schema cannot be used: Found recursive"),
        pytest.param(
            {"avro": {"schema": '{"type": "string"}'}},
            "its type is string: write one of type record",
            marks=LONG,
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


BAD_JSON = {
    b"": "it is not one JSON object of this schema",
    b"  ": "it is not one JSON object of this schema",
    b"null": "it is not one JSON object of this schema",
    b"5": "it is not one JSON object of this schema",
    b'[{"id": "a"}]': "it is not one JSON object of this schema",
    b'{"id": "a"': "it is not one JSON object of this schema",
    b'{"id": "a"} {"id": "b"}': "it is not one JSON object of this schema",
    b'{"id": "a", "amount": "much"}': "it is not one JSON object of this schema",
    b'{"id": "a", "tags": [{"x": 1}, 2], "amount": []}': "it is not one JSON object of this schema",
    b'{"amount": 1}': "its field id is missing or null",
    b'{"id": null}': "its field id is missing or null",
    b'{"id": "\xff"}': "it is not UTF-8",
}


def letters(broker: KafkaBroker, topic: str) -> dict[bytes, dict[str, bytes]]:
    """The headers of each dead letter, by its value."""
    found = [
        (m.value() or b"", dict(m.headers() or [])) for m in read_messages(broker.bootstrap, topic)
    ]
    assert len(found) == len(dict(found)), "each of them once"
    return dict(found)


def test_what_cannot_be_decoded_goes_to_the_dead_letters_as_it_is(
    broker: KafkaBroker, topics: tuple[str, str], reading: Callable[..., Driver]
) -> None:
    dead = f"{topics[1]}-dead"
    broker.create_topic(dead, 1)
    good = [b'{"id": "%d", "amount": 1, "other": {}}' % n for n in range(60)]
    mixed = [*good[:30], *BAD_JSON, None, *good[30:]]
    send(broker.bootstrap, topics[0], *mixed, key=b"k", headers=[("trace", b"\x01")])
    driver = reading({"json": {"schema": DDL}}, deadLetters={"topic": dead, "maxPerBatch": 12})
    last = driver.until(driver.committed(len(mixed)))
    assert last["dead_letters_total"] == len(BAD_JSON)
    assert last["ledger_mismatch_total"] == 0
    driver.until(lambda m: m.get("missing_records") == 0)
    assert driver.terminate() == 0
    rows = [json.loads(m.value() or b"{}") for m in read_messages(broker.bootstrap, topics[1])]
    assert sorted(row.get("id", "") for row in rows) == sorted(["", *(str(n) for n in range(60))])
    found = letters(broker, dead)
    assert {
        value: headers["trimtab.error"].decode() for value, headers in found.items()
    } == BAD_JSON
    for value, headers in found.items():
        place = mixed.index(value)
        assert headers["trimtab.topic"].decode() == topics[0]
        assert int(headers["trimtab.partition"]) == place % 4
        assert int(headers["trimtab.offset"]) == place // 4
        assert headers["trace"] == b"\x01"
    assert {m.key() for m in read_messages(broker.bootstrap, dead)} == {b"k"}


@LONG
def test_neither_good_nor_bad_records_are_lost_over_kills(
    broker: KafkaBroker, topics: tuple[str, str], reading: Callable[..., Driver]
) -> None:
    """The sink has all that can be decoded, the dead letters all that cannot, and nothing else."""
    dead, bad = f"{topics[1]}-dead", {b"", b"\x01" + order("a", 1), b"\x00\x00\x00"}
    broker.create_topic(dead, 2)
    with Registry() as registry:
        registry.add(7, ORDER, f"{topics[0]}-value")
        bad |= {framed(7, b"\x08a"), framed(404, order("a", 1))}
        good = [framed(7, order(f"a{n}", n)) for n in range(1500)]
        mixed = [*good]
        for place, value in enumerate(sorted(bad)):
            mixed.insert(place * 250 + 3, value)
        send(broker.bootstrap, topics[0], *mixed)
        avro = {"schema": json.dumps(ORDER), "schemaRegistry": {"url": registry.url}}
        driver = reading({"avro": avro}, deadLetters={"topic": dead, "maxPerBatch": 5})
        for least in (200, 400):
            driver.until(lambda m, least=least: m.get("records_total", 0) >= least)
            driver.kill()
            driver.start()
        driver.until(lambda m: m.get("lag_records_total", 1) == 0 or driver.committed(1)(m))
        assert driver.terminate() == 0
    assert {(row["id"], row["amount"]) for row in written(broker, topics[1])} == {
        (f"a{n}", n) for n in range(1500)
    }
    found = {
        m.value() or b"": dict(m.headers() or []) for m in read_messages(broker.bootstrap, dead)
    }
    assert set(found) == bad
    assert found[framed(404, order("a", 1))]["trimtab.error"].decode() == (
        "the registry has no usable Avro schema 404"
    )
    assert (
        found[framed(7, b"\x08a")]["trimtab.error"]
        .decode()
        .startswith("it is not Avro of schema 7")
    )


@LONG
def test_more_of_them_than_the_limit_stall_and_nothing_is_committed(
    broker: KafkaBroker, topics: tuple[str, str], reading: Callable[..., Driver]
) -> None:
    dead = f"{topics[1]}-dead"
    broker.create_topic(dead, 1)
    send(broker.bootstrap, topics[0], *[b"no"] * 11, b'{"id": "a"}')
    driver = reading({"json": {"schema": DDL}}, deadLetters={"topic": dead, "maxPerBatch": 10})
    told = driver.termination()
    assert told["reason"] == "TooManyDeadLetters"
    assert "11 records of a batch" in told["message"]
    assert f"The first: {topics[0]}/0 at 0: it is not one JSON object" in told["message"]
    assert list(read_messages(broker.bootstrap, dead)) == []
    assert written(broker, topics[1]) == []
    document = json.loads((driver.directory / "job.json").read_text())
    document["deadLetters"]["maxPerBatch"] = 11
    (driver.directory / "job.json").write_text(json.dumps(document))
    driver.start()
    driver.until(driver.committed(12))
    assert driver.terminate() == 0
    assert len(list(read_messages(broker.bootstrap, dead))) == 11
    assert [row["id"] for row in written(broker, topics[1])] == ["a"]


@LONG
def test_the_example_sorts_its_orders(
    broker: KafkaBroker, topics: tuple[str, str], reading: Callable[..., Driver]
) -> None:
    spec = yaml.safe_load((REPO / "examples/70-avro-dead-letters/pipeline.yaml").read_text())[
        "spec"
    ]
    dead = f"{topics[1]}-dead"
    broker.create_topic(dead, 1)

    def of(id_: str, amount: int | None) -> bytes:
        union = number(0) if amount is None else number(1) + number(amount)
        return number(len(id_)) + id_.encode() + union

    mixed = [of("a", 5), of("b", None), b"\xff", None, of("c", 7)]
    send(broker.bootstrap, topics[0], *mixed)
    driver = reading(
        spec["source"]["kafka"]["format"],
        transform=spec["transform"],
        deadLetters=spec["deadLetters"] | {"topic": dead},
    )
    driver.until(driver.committed(5))
    assert driver.terminate() == 0
    out = [m.value() for m in read_messages(broker.bootstrap, topics[1])]
    assert sorted(json.loads(value)["id"] for value in out if value) == ["a", "c"]
    assert out.count(None) == 1, "the tombstone"
    found = {value: headers["trimtab.error"] for value, headers in letters(broker, dead).items()}
    assert found == {
        of("b", None): b"the order has no amount",
        b"\xff": b"it is not Avro of this schema",
    }

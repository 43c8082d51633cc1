"""Messages of Protocol Buffers, in the frame of Confluent's and without it; Avro from SQL."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.verify import read_messages
from tests import messages
from tests.kafka.driver import Driver
from tests.kafka.test_formats import ORDER, framed, letters, order, reading, send, written
from tests.long import LONG

__all__ = ["reading"]

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]
ORDERS: dict[str, Any] = {"descriptorSet": messages.descriptor_set(), "message": "shop.Order"}
FRAME = b"\x00\x00\x00\x00\x07"


def test_messages_become_structs_and_what_is_none_goes_to_the_dead_letters(
    broker: KafkaBroker, topics: tuple[str, str], reading: Callable[..., Driver]
) -> None:
    dead = f"{topics[1]}-dead"
    broker.create_topic(dead, 1)
    good = [
        FRAME + b"\x00" + messages.order(id=f"a{n:02}", amount=n, tags=["x"], item={"sku": b"s"})
        for n in range(40)
    ]
    bad = {
        FRAME + b"\x00\xff\xff": "it is not a message shop.Order",
        FRAME + b"\x02\x02": "it is another message of its schema than shop.Order",
        b"\x01": "it does not begin with a zero byte and a schema id",
    }
    send(broker.bootstrap, topics[0], *good[:20], *bad, *good[20:])
    driver = reading(
        {"protobuf": ORDERS | {"framed": True}}, deadLetters={"topic": dead, "maxPerBatch": 5}
    )
    last = driver.until(driver.committed(len(good) + len(bad)))
    assert (last["dead_letters_total"], last["ledger_mismatch_total"]) == (3, 0)
    assert driver.terminate() == 0
    rows = written(broker, topics[1])
    assert [(row["id"], row["amount"], row["tags"], row["state"]) for row in rows] == [
        (f"a{n:02}", n, ["x"], "OPEN") for n in range(40)
    ]
    found = letters(broker, dead)
    assert {value: headers["trimtab.error"].decode() for value, headers in found.items()} == bad


@LONG
def test_the_first_message_that_is_none_stops_a_pipeline_without_dead_letters(
    broker: KafkaBroker, topics: tuple[str, str], reading: Callable[..., Driver]
) -> None:
    send(broker.bootstrap, topics[0], messages.order(id="a"), b"\xff\xff")
    told = reading({"protobuf": ORDERS}).termination()
    assert told["reason"] == "RecordUndecodable"
    place = f"the value of {topics[0]}/1 at 0: it is not a message shop.Order"
    assert place in told["message"]


def test_a_message_that_no_row_can_hold_is_told(reading: Callable[..., Driver]) -> None:
    told = reading({"protobuf": ORDERS | {"message": "shop.Tree"}}).termination()
    assert told["reason"] == "FormatInvalid"
    assert "shop.Tree holds itself" in told["message"]


def test_sql_writes_avro_in_the_frame_of_a_registry(
    broker: KafkaBroker, topics: tuple[str, str], reading: Callable[..., Driver]
) -> None:
    """What docs/formats.md says under "Writing Avro"."""
    sql = (
        "SELECT record.id AS key, concat(unhex('0000000007'),"
        " to_avro(struct(record.id AS id, record.amount AS amount),"
        f" '{json.dumps(ORDER)}')) AS value, topic, partition, offset FROM source"
    )
    send(broker.bootstrap, topics[0], b'{"id": "a", "amount": 5}')
    driver = reading(
        {"json": {"schema": "id STRING NOT NULL, amount BIGINT NOT NULL"}}, transform={"sql": sql}
    )
    driver.until(driver.committed(1))
    assert driver.terminate() == 0
    (found,) = read_messages(broker.bootstrap, topics[1])
    assert found.value() == framed(7, order("a", 5))

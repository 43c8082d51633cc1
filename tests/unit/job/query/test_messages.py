"""Messages of Protocol Buffers as rows."""

from __future__ import annotations

import base64
from decimal import Decimal

import pytest
from tests.messages import descriptor_set, order

from trimtab.job.query.formats.messages import found, place, read, struct

SET = descriptor_set()
ORDER = found(SET, "shop.Order")
FULL = order(
    id="a", amount=7, large=2**64 - 1, paid=True, tags=["x", "y"], state="CLOSED",
    item={"sku": b"\x01"}, counts={"n": 3},
)  # fmt: skip


def test_a_message_has_the_type_of_its_fields() -> None:
    assert struct(ORDER).simpleString() == (
        "struct<id:string,amount:bigint,large:decimal(20,0),paid:boolean,tags:array<string>,"
        "state:string,item:struct<sku:binary>,counts:map<string,int>>"
    )


def test_all_that_is_set_is_in_the_row() -> None:
    row = ("a", 7, Decimal(2**64 - 1), True, ["x", "y"], "CLOSED", (b"\x01",), {"n": 3})
    assert read(FULL, ORDER, framed=False) == (row, None)


def test_what_is_not_set_is_a_default_or_null() -> None:
    row = ("", 0, Decimal(0), False, [], "OPEN", None, {})
    assert read(b"", ORDER, framed=False) == (row, None)


def test_an_enum_that_is_new_is_its_number_and_an_unknown_field_is_ignored() -> None:
    row, error = read(order(state=9) + b"\xf8\x07\x01", ORDER, framed=False)
    assert error is None
    assert row[5] == "9"


FRAME = b"\x00\x00\x00\x00\x07"


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (FRAME + b"\x00" + FULL, None),
        (FRAME + b"\x02\x02" + FULL, "it is another message of its schema than shop.Order"),
        (b"\x01" + FRAME[1:] + b"\x00" + FULL, "it does not begin with a zero byte"),
        (b"\x00\x00", "it does not begin with a zero byte"),
        (FRAME + b"\x00\xff\xff", "it is not a message shop.Order"),
    ],
)
def test_a_framed_value_says_which_message_it_is(value: bytes, error: str | None) -> None:
    row, said = read(value, ORDER, framed=True)
    assert (row is None) == (error is not None)
    assert (said or "").startswith(error or "")


@pytest.mark.parametrize(
    ("name", "bytes_"),
    [("shop.Order", b"\x00"), ("shop.Tree", b"\x02\x02"), ("shop.Order.Item", b"\x04\x00\x00")],
)
def test_the_place_of_a_message_is_its_indexes_after_their_number(name: str, bytes_: bytes) -> None:
    assert place(found(SET, name)) == bytes_


@pytest.mark.parametrize(
    ("descriptors", "name", "words"),
    [
        ("not base64", "shop.Order", "descriptorSet is no file of protoc"),
        (base64.b64encode(b"\xff\xff").decode(), "shop.Order", "descriptorSet is no file"),
        (SET, "shop.Ordre", "has no message shop.Ordre, but: shop.Nothing, shop.Order, shop.Tree"),
        (SET, "shop.Tree", "shop.Tree holds itself (shop.Tree > shop.Tree)"),
        (SET, "shop.Nothing", "shop.Nothing has no fields"),
    ],
)
def test_a_description_that_makes_no_row_is_refused(
    descriptors: str, name: str, words: str
) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        struct(found(descriptors, name))
    assert words in str(error.value)

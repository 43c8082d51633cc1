"""Messages of Protocol Buffers for tests, described without protoc."""

from __future__ import annotations

import base64
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

Field = descriptor_pb2.FieldDescriptorProto
_TYPES = {
    "string": Field.TYPE_STRING, "int32": Field.TYPE_INT32, "int64": Field.TYPE_INT64,
    "uint64": Field.TYPE_UINT64, "double": Field.TYPE_DOUBLE, "bool": Field.TYPE_BOOL,
    "bytes": Field.TYPE_BYTES,
}  # fmt: skip


def described() -> descriptor_pb2.FileDescriptorSet:
    """What protoc makes of a file shop.proto in proto3, with an Order, and a Tree of Trees."""
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    order = file.message_type.add(name="Order")
    for number, (name, type_) in enumerate(
        {"id": "string", "amount": "int64", "large": "uint64", "paid": "bool"}.items(), 1
    ):
        order.field.add(name=name, number=number, type=_TYPES[type_], label=Field.LABEL_OPTIONAL)
    order.field.add(name="tags", number=5, type=_TYPES["string"], label=Field.LABEL_REPEATED)
    order.field.add(
        name="state", number=6, type=Field.TYPE_ENUM, type_name=".shop.State",
        label=Field.LABEL_OPTIONAL,
    )  # fmt: skip
    order.field.add(
        name="item", number=7, type=Field.TYPE_MESSAGE, type_name=".shop.Order.Item",
        label=Field.LABEL_OPTIONAL,
    )  # fmt: skip
    order.field.add(
        name="counts", number=8, type=Field.TYPE_MESSAGE, type_name=".shop.Order.CountsEntry",
        label=Field.LABEL_REPEATED,
    )  # fmt: skip
    item = order.nested_type.add(name="Item")
    item.field.add(name="sku", number=1, type=_TYPES["bytes"], label=Field.LABEL_OPTIONAL)
    entry = order.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=_TYPES["string"], label=Field.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=_TYPES["int32"], label=Field.LABEL_OPTIONAL)
    state = file.enum_type.add(name="State")
    state.value.add(name="OPEN", number=0)
    state.value.add(name="CLOSED", number=1)
    tree = file.message_type.add(name="Tree")
    tree.field.add(
        name="left", number=1, type=Field.TYPE_MESSAGE, type_name=".shop.Tree",
        label=Field.LABEL_OPTIONAL,
    )  # fmt: skip
    file.message_type.add(name="Nothing")
    return descriptor_pb2.FileDescriptorSet(file=[file])


def descriptor_set() -> str:
    """The same, in base64."""
    return base64.b64encode(described().SerializeToString()).decode()


def order(**fields: Any) -> bytes:
    """An Order."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(described().file[0])
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))(**fields)
    return bytes(made.SerializeToString())

"""Messages of Protocol Buffers as rows of Spark, in executors' Python too.

| proto | Spark |
|---|---|
| double, float | double, float |
| int32, sint32, sfixed32 | int |
| int64, sint64, sfixed64, uint32, fixed32 | bigint |
| uint64, fixed64 | decimal(20, 0) |
| bool, string, bytes | boolean, string, binary |
| enum | string: its name, or its number if it has none |
| message | struct |
| repeated, map | array, map |

A field that has presence and is not set is null; any other that is not set has its default, as
everywhere in Protocol Buffers.
"""

from __future__ import annotations

import base64
import binascii
import functools
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from pyspark.sql import types as T  # noqa: N812 -- its usual name

FRAME = 5
"""Bytes before the place of the message: the zero byte and the id of the schema."""
_SCALARS: dict[int, T.DataType] = {
    FieldDescriptor.CPPTYPE_INT32: T.IntegerType(),
    FieldDescriptor.CPPTYPE_INT64: T.LongType(),
    FieldDescriptor.CPPTYPE_UINT32: T.LongType(),
    FieldDescriptor.CPPTYPE_UINT64: T.DecimalType(20, 0),
    FieldDescriptor.CPPTYPE_DOUBLE: T.DoubleType(),
    FieldDescriptor.CPPTYPE_FLOAT: T.FloatType(),
    FieldDescriptor.CPPTYPE_BOOL: T.BooleanType(),
    FieldDescriptor.CPPTYPE_ENUM: T.StringType(),
    FieldDescriptor.CPPTYPE_STRING: T.StringType(),
}


@functools.lru_cache(maxsize=16)
def found(descriptor_set: str, name: str) -> Descriptor:
    """The description of a message in a set of files, in base64.

    Raises:
        ValueError: it is no such set, or the message is not in it.
    """
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(descriptor_set))
    except (binascii.Error, DecodeError) as error:
        raise ValueError(f"descriptorSet is no file of protoc: {error}") from error
    pool = descriptor_pool.DescriptorPool()
    try:
        for file in files.file:
            pool.Add(file)
        described: Descriptor = pool.FindMessageTypeByName(name)
    except KeyError:
        known = ", ".join(sorted(_names(files))) or "none"
        raise ValueError(f"descriptorSet has no message {name}, but: {known[:500]}") from None
    except TypeError as error:
        words = f"descriptorSet lacks a file that it imports (--include_imports): {error}"
        raise ValueError(words) from error
    return described


def _names(files: descriptor_pb2.FileDescriptorSet) -> Iterator[str]:
    for file in files.file:
        for message in file.message_type:
            yield f"{file.package}.{message.name}".lstrip(".")


def struct(described: Descriptor, above: tuple[str, ...] = ()) -> T.StructType:
    """The type of a message's row; raises ValueError if it holds itself, or nothing."""
    name = described.full_name
    if name in above:
        raise ValueError(f"{name} holds itself ({' > '.join((*above, name))}), which no row can")
    if not described.fields:
        raise ValueError(f"{name} has no fields")
    return T.StructType(
        [T.StructField(field.name, _type(field, (*above, name))) for field in described.fields]
    )


def _type(field: FieldDescriptor, above: tuple[str, ...]) -> T.DataType:
    if _is_map(field):
        key, value = (field.message_type.fields_by_name[part] for part in ("key", "value"))
        return T.MapType(_one(key, above), _one(value, above))
    one = _one(field, above)
    return T.ArrayType(one) if field.is_repeated else one


def _one(field: FieldDescriptor, above: tuple[str, ...]) -> T.DataType:
    if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
        return struct(field.message_type, above)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return T.BinaryType()
    return _SCALARS[field.cpp_type]


def _is_map(field: FieldDescriptor) -> bool:
    message = field.message_type
    return bool(field.is_repeated and message and message.GetOptions().map_entry)


def place(described: Descriptor) -> bytes:
    """Where a message is in its file, as serializers of Confluent write it after the frame.

    The indexes on the way to it, each as a zigzag varint, after their number; a single zero stands
    for the first message of the file.
    """
    path: list[int] = []
    while described is not None:
        above = described.containing_type
        siblings = above.nested_types if above else _top(described)
        path.insert(0, [each.full_name for each in siblings].index(described.full_name))
        described = above
    return b"\x00" if path == [0] else b"".join(_varint(2 * n) for n in (len(path), *path))


def _top(described: Descriptor) -> list[Descriptor]:
    return list(described.file.message_types_by_name.values())


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def read(value: bytes, described: Descriptor, *, framed: bool) -> tuple[Any, str | None]:
    """The row of a value and None, or None and why it cannot be decoded."""
    if framed:
        if len(value) < FRAME or value[0] != 0:
            return None, "it does not begin with a zero byte and a schema id"
        where, value = place(described), value[FRAME:]
        if not value.startswith(where):
            return None, f"it is another message of its schema than {described.full_name}"
        value = value[len(where) :]
    message = message_factory.GetMessageClass(described)()
    try:
        message.ParseFromString(bytes(value))
    except DecodeError:
        return None, f"it is not a message {described.full_name}"
    return _row(message), None


def _row(message: Message) -> tuple[Any, ...]:
    return tuple(_value(message, field) for field in message.DESCRIPTOR.fields)


def _value(message: Message, field: FieldDescriptor) -> Any:
    if not field.is_repeated and field.has_presence and not message.HasField(field.name):
        return None
    held = getattr(message, field.name)
    if _is_map(field):
        one = field.message_type.fields_by_name["value"]
        return {key: _plain(held[key], one) for key in held}
    return [_plain(each, field) for each in held] if field.is_repeated else _plain(held, field)


def _plain(held: Any, field: FieldDescriptor) -> Any:
    if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
        return _row(held)
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        named = field.enum_type.values_by_number.get(held)
        return named.name if named else str(held)
    return Decimal(held) if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64 else held

"""Durations and memory quantities: strings for people, numbers for code.

In manifests both are strings (`10s`, `1500ms`, `2Gi`); in Python a duration is a float in
seconds and a quantity an int in bytes. Formatting gives the shortest exact string, so that a
value read and written again does not change.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

HOUR_S, DAY_S = 3600.0, 86400.0

DURATION_PATTERN = r"^([0-9]{1,9}(ms|([.][0-9]{1,3})?(s|m|h)))+$"
"""Whole milliseconds: less would become nothing where a duration is written."""
QUANTITY_PATTERN = r"^[1-9][0-9]{0,11}(Ki|Mi|Gi|Ti|k|M|G|T)?$"
CPU_PATTERN = r"^([1-9][0-9]{0,3}|[1-9][0-9]{0,5}m|[0-9]{1,3}[.][0-9]{1,3})$"

UNIT_KEY = "x-trimtab-unit"
"""Marks a schema whose Python default is a number in this unit; the generator removes the mark."""

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {
    "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40,
}  # fmt: skip
_LARGEST_FIRST = ("Ti", "Gi", "Mi", "Ki", "T", "G", "M", "k", "")
_LETTERS = "".join({*"m", *"".join(_BYTES)})
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")


def parse_duration(value: str | float) -> float:
    """Seconds in a duration such as `90s`, `1m30s`, `250ms`; a plain number is in seconds.

    Raises:
        ValueError: the text is not a duration; the message shows how to write one.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str) or not re.fullmatch(DURATION_PATTERN, value):
        raise ValueError(f"{value!r} is not a duration: write it like 500ms, 10s, 5m or 1h30m")
    return round(sum(float(n) * _SECONDS[u] for n, u in _DURATION_PART.findall(value)), 6)


def counted(count: int, noun: str) -> str:
    """A count with its noun, for a sentence: `1 executor`, `3 executors`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def format_rate(per_s: float) -> str:
    """A rate in as many digits as a sentence needs: `160`, `12`, `3.2`, `0.35`."""
    return f"{per_s:.0f}" if per_s >= 9.5 else f"{per_s:.2g}"


def format_duration(seconds: float) -> str:
    """The shortest exact duration string, to the millisecond: 90.0 -> `90s`, 0.2 -> `200ms`."""
    milliseconds = round(seconds * 1000)
    if milliseconds % 1000:
        return f"{milliseconds}ms"
    whole = milliseconds // 1000
    for unit, size in (("h", 3600), ("m", 60)):
        if whole and whole % size == 0 and whole >= 2 * size:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def parse_quantity(value: str | int) -> int:
    """Bytes in a memory or storage quantity such as `900Mi` or `2Gi`; a plain int is in bytes.

    Raises:
        ValueError: the text is not a quantity; the message shows how to write one.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str) or not re.fullmatch(QUANTITY_PATTERN, value):
        raise ValueError(f"{value!r} is not a quantity of bytes: write it like 512Mi or 2Gi")
    number, unit = re.fullmatch(r"([0-9]+)([A-Za-z]*)", value).groups()  # type: ignore[union-attr]
    return int(number) * _BYTES[unit]


def format_quantity(size_bytes: int) -> str:
    """The shortest exact quantity string, binary in case of a tie: 943718400 -> `900Mi`."""
    exact = [(u, size_bytes // _BYTES[u]) for u in _LARGEST_FIRST if size_bytes % _BYTES[u] == 0]
    return min((f"{number}{unit}" for unit, number in exact), key=len)


def parse_cpu(value: str) -> float:
    """Cores in a CPU quantity: `100m` -> 0.1, `2` -> 2.0."""
    return float(value[:-1]) / 1000 if value.endswith("m") else float(value)


def parse_amount(value: str) -> float:
    """The number in any quantity that Kubernetes writes: `250m` -> 0.25, `2` -> 2.0, `1Ki` -> 1024.

    Raises:
        ValueError: the text is not a quantity.
    """
    number, unit = value.rstrip(_LETTERS), value.lstrip("0123456789.")
    if unit not in {*_BYTES, "m"}:
        raise ValueError(f"{value!r} is not a quantity")
    return float(number) / 1000 if unit == "m" else float(number) * _BYTES[unit]


def _string_schema(rule: str, message: str, unit: str = "") -> dict[str, Any]:
    validation = {"rule": rule, "message": message}
    schema = {"type": "string", "maxLength": 32, "x-kubernetes-validations": [validation]}
    return {**schema, UNIT_KEY: unit} if unit else schema


@dataclass(frozen=True, slots=True)
class Bounds:
    """Annotation: the smallest and the largest number that a field takes, at every door."""

    least: float
    most: float
    rule: str
    """The same as CEL, true also for what is no number."""
    message: str

    def _check(self, number: float) -> float:
        if not self.least <= number <= self.most:
            raise ValueError(self.message)
        return number

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        found, key = handler(schema), "x-kubernetes-validations"
        return found | {key: [*found[key], {"rule": self.rule, "message": self.message}]}


def between(least_s: float, most_s: float) -> Bounds:
    """Bounds of a Duration, in seconds."""
    least, most = format_duration(least_s), format_duration(most_s)
    rule = (
        f"!self.matches('{DURATION_PATTERN}') || (duration(self) >= duration('{least}')"
        f" && duration(self) <= duration('{most}'))"
    )
    return Bounds(least_s, most_s, rule, f"write a duration from {least} to {most}")


def at_least(size_bytes: int, why: str) -> Bounds:
    """The least of a Quantity, in bytes; `why` ends the message."""
    least = format_quantity(size_bytes)
    rule = (
        f"!self.matches('{QUANTITY_PATTERN}') || quantity(self).compareTo(quantity('{least}')) >= 0"
    )
    return Bounds(size_bytes, math.inf, rule, f"write at least {least}: {why}")


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema(
        _string_schema(
            f"self.matches('{DURATION_PATTERN}') && duration(self) > duration('0s')",
            "write a duration above zero in whole milliseconds, like 500ms, 10s, 5m or 1h30m",
            "seconds",
        )
    ),
]
"""Seconds in Python, `10s` in a manifest."""

Quantity = Annotated[
    int,
    BeforeValidator(parse_quantity),
    PlainSerializer(format_quantity, return_type=str),
    WithJsonSchema(
        _string_schema(
            f"self.matches('{QUANTITY_PATTERN}')",
            "write a size in bytes with a unit, like 512Mi or 2Gi",
            "bytes",
        )
    ),
]
"""Bytes in Python, `900Mi` in a manifest."""

Cpu = Annotated[
    str,
    WithJsonSchema(
        _string_schema(
            f"self.matches('{CPU_PATTERN}')", "write a CPU quantity, like 100m, 1 or 1.5"
        )
    ),
]
"""A CPU quantity, kept as written."""

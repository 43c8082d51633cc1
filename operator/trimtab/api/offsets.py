"""Where a source begins: the latest or earliest record, a time, or an offset for each partition."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, WithJsonSchema

LATEST, EARLIEST = "latest", "earliest"
SPECIAL = {LATEST: -1, EARLIEST: -2}
"""What Kafka writes for them in place of an offset."""

_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
PATTERN = rf'^(latest|earliest|{_TIME}|\{{\s*".*\}})$'
HOW = (
    "write latest, earliest, a time like 2026-01-31T12:00:00Z, or an offset for each partition,"
    ' like {"clicks": {"0": 23, "1": -2}} (-1 is latest, -2 is earliest)'
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

TopicOffsets = Mapping[str, Mapping[int, int]]
"""Offsets by topic and partition."""


def time_ms(start: str) -> int | None:
    """Milliseconds since 1970 of a start at a time; None if it is not one.

    Rounded down, as Kafka's own times are: no record of that moment or later is left out.
    """
    if not re.fullmatch(_TIME, start):
        return None
    return (datetime.fromisoformat(start) - _EPOCH) // timedelta(milliseconds=1)


def by_partition(start: str) -> TopicOffsets | None:
    """The offsets of a start at offsets; None if it is not one.

    Raises:
        ValueError: it looks like one, but is not.
    """
    if not start.startswith("{"):
        return None
    return {str(topic): _partitions(parts) for topic, parts in json.loads(start).items()}


def _partitions(parts: Any) -> dict[int, int]:
    found = {int(partition): offset for partition, offset in parts.items()}
    for offset in found.values():
        if type(offset) is not int or offset < min(SPECIAL.values()):
            raise ValueError(f"{offset!r} is not an offset")
    return found


def _checked(start: str) -> str:
    try:
        known = start in SPECIAL or time_ms(start) is not None or by_partition(start) is not None
    except (ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"startingOffsets: {HOW}: {error}") from error
    if not known:
        raise ValueError(f"startingOffsets: {HOW}")
    return start


Start = Annotated[
    str,
    AfterValidator(_checked),
    WithJsonSchema(
        {
            "type": "string",
            "maxLength": 32768,
            "x-kubernetes-validations": [
                {"rule": f"self.matches({json.dumps(PATTERN)})", "message": HOW}
            ],
        }
    ),
]
"""A start, as written."""

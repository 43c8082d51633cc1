"""The offsets in Spark's logs: a JSON map for each source, after a version line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.api.topics import qualified

Offsets = Mapping[tuple[str, int], int]
"""The next offset to read by (topic, partition)."""


def parse_offsets(document: Mapping[str, Any], source: str = "") -> Offsets:
    """Spark's JSON map {topic: {partition: offset}} as one flat map; other offsets are left out.

    The topics are qualified by the name of the source.
    """
    return {
        (qualified(source, topic), int(partition)): int(offset)
        for topic, partitions in document.items()
        if isinstance(partitions, Mapping)
        for partition, offset in partitions.items()
    }


def offsets_in(log: str | None, sources: Sequence[str]) -> Offsets | None:
    """The offsets in a log file; None if it is missing or has none.

    The file ends with a line for each of the sources.
    """
    lines = (log or "").strip().splitlines()[-len(sources) :]
    found: dict[tuple[str, int], int] = {}
    try:
        for line, source in zip(lines, sources, strict=True):
            found |= parse_offsets(json.loads(line[line.index("{") :]), source)
    except (ValueError, AttributeError):
        return None
    return found or None

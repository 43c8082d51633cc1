"""A pipeline's history: its decisions with their numbers, as the operator keeps them and the CLI
reads them.

It is a ring of JSON lines, compressed, in one ConfigMap: what is oldest goes first.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib
from collections.abc import Mapping, Sequence

from pydantic import Field, ValidationError

from trimtab.api.common import StatusModel
from trimtab.api.v1alpha1.status import DecisionRecord

HISTORY_KEY = "history.jsonl.gz"
NEWEST_KEY = "newest"
"""Names the newest entry, so that nobody needs to unpack them all to see whether it is there."""

MAX_ENTRIES = 500
"""About two weeks of a pipeline that changes something 15 times a day, and 50 kB."""

MAX_BYTES = 200_000
"""Compressed. The API server takes 1 MiB; base64 adds a third."""


class Numbers(StatusModel):
    """What a decision was based on; an unknown number is left out."""

    load: float | None = Field(None, description="1 is exactly what the goal allows.")
    capacity_load: float | None = Field(None, alias="capacityLoad")
    latency_load: float | None = Field(None, alias="latencyLoad")
    input_rate: float | None = Field(None, alias="inputRate", description="Records/s.")
    observed: float | None = Field(
        None, description="What the goal is held against: seconds, or records/s for a rate."
    )
    lag_records: float | None = Field(None, alias="lagRecords")
    lag_s: float | None = Field(None, alias="lagSeconds")
    batch_s: float | None = Field(None, alias="batchSeconds")
    bottleneck: str | None = None
    evidence: str | None = None


class Entry(DecisionRecord):
    """One decision and what is in force from it on."""

    goal: str = ""
    mode: str = ""
    settings: Mapping[str, float] = Field(
        default_factory=dict, description="Knobs in force from now on; durations in seconds."
    )
    cores: int | None = Field(None, description="Task slots of the executors from now on.")
    numbers: Numbers | None = Field(None, description="None: the operator ended in between.")


def name_of(record: DecisionRecord) -> str:
    """What tells a decision from the others."""
    return f"{record.time} {record.action} {record.reason} {record.generation}"


def packed(entries: Sequence[Entry]) -> str:
    """The newest entries as they are stored, in base64; the same entries give the same text."""
    kept = entries[-MAX_ENTRIES:]
    while True:
        lines = (e.model_dump_json(by_alias=True, exclude_none=True) for e in kept)
        data = gzip.compress("\n".join(lines).encode(), mtime=0)
        if len(data) <= MAX_BYTES:
            return base64.b64encode(data).decode()
        kept = kept[len(kept) // 4 + 1 :]


def unpacked(text: str) -> tuple[Entry, ...]:
    """The entries, oldest first.

    Raises:
        ValueError: this is not a history.
    """
    try:
        lines = gzip.decompress(base64.b64decode(text, validate=True)).decode().split("\n")
        return tuple(Entry.model_validate_json(line) for line in lines)
    except (binascii.Error, OSError, EOFError, zlib.error, ValidationError) as error:
        raise ValueError(f"not a history: {error}") from error

"""Where a new generation of a checkpoint begins: where the one before it ended."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from pyspark import SparkContext

from trimtab.api.topics import matching
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.offset_log import Offsets
from trimtab.kafka.admin import KafkaIdentity

log = logging.getLogger(__name__)

_GENERATION = re.compile(r"^(?P<root>.*/g)(?P<number>\d+)(?P<name>/[^/]+)$")

LOOKED_BACK = 10
"""Generations that are looked at: those in between may have failed before their first batch."""


def earlier(uri: str) -> list[str]:
    """The URIs of the generations before one, the latest first."""
    found = _GENERATION.match(uri)
    if found is None:
        return []
    number = int(found["number"])
    past = range(number - 1, max(0, number - 1 - LOOKED_BACK), -1)
    return [f"{found['root']}{each}{found['name']}" for each in past]


def inherited(
    uri: str, topics: Sequence[str], now: KafkaIdentity, context: SparkContext | None = None
) -> Offsets | None:
    """The offsets that the last generation with any has committed; None if there are none.

    Only of topics that are still read and still the same: the offsets of a topic that was created
    again mean other records.

    Raises:
        JobFailureError: the file system of the URI cannot be reached.
    """
    for each in earlier(uri):
        checkpoint = Checkpoint.of(each, context)
        offsets = checkpoint.committed_offsets()
        if offsets:
            read = matching(topics, {topic for topic, _ in offsets})
            same = _same(checkpoint, read, now)
            kept = {key: offset for key, offset in offsets.items() if key[0] in same}
            log.info("a new checkpoint begins where %s ended: %s", each, kept)
            return kept or None
    return None


def _same(checkpoint: Checkpoint, topics: set[str], now: KafkaIdentity) -> set[str]:
    before = checkpoint.kafka()
    if before is None:
        return topics
    if before.cluster and now.cluster and before.cluster != now.cluster:
        return set()
    return {t for t in topics if before.topics.get(t) == now.topics.get(t)}

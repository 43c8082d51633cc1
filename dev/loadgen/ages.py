"""How old records were when the pipeline wrote them: both topics are read and matched.

The age is the time of a record in the output, set by the pipeline's producer, less its time in the
input, set by ours: one clock where both run on one machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import groupby

from dev.loadgen.records import identity
from dev.loadgen.verify import read_messages

WINDOW_S = 10
PERCENTILES = (50, 95, 99, 100)

Times = Iterable[tuple[int, int]]
"""Sequence numbers and milliseconds since the epoch."""


def times(bootstrap: str, topic: str, run: str) -> list[tuple[int, int]]:
    """Of each record of a run in a topic."""
    found = []
    for message in read_messages(bootstrap, topic):
        known = identity(message.value())
        if known is not None and known[0] == run:
            found.append((known[1], message.timestamp()[1]))
    return found


def ages(sent: Times, written: Times, skip_s: float) -> dict[str, object]:
    """Percentiles of the ages in milliseconds, without those sent in the first `skip_s` seconds.

    `windows` has the seconds since the first record and the 95th percentile, for each window.
    """
    at_ms = dict(sent)
    first_ms = min(at_ms.values(), default=0)
    pairs = sorted(
        (at_ms[sequence] - first_ms, done_ms - at_ms[sequence])
        for sequence, done_ms in written
        if sequence in at_ms and at_ms[sequence] - first_ms >= 1000 * skip_s
    )
    windows = [
        [int(number) * WINDOW_S, percentile([age for _, age in group], 95)]
        for number, group in groupby(pairs, key=lambda pair: pair[0] // (1000 * WINDOW_S))
    ]
    told: dict[str, object] = {"records": len(pairs), "windows": windows}
    for each in PERCENTILES:
        told[f"p{each}_ms"] = percentile([age for _, age in pairs], each) if pairs else None
    return told


def percentile(values: Iterable[int], percent: int) -> int:
    """The smallest value that so many percent do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def measure(bootstrap: str, topics: tuple[str, str], run: str, skip_s: float) -> dict[str, object]:
    """`ages` of a run, from the topic that it was produced to and the one that came of it."""
    began = time.monotonic()
    sent, written = (times(bootstrap, topic, run) for topic in topics)
    return ages(sent, written, skip_s) | {"seconds": round(time.monotonic() - began, 1)}

"""Produce records by a schedule, and count those that Kafka acknowledged."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from confluent_kafka import KafkaError, Message, Producer
from dev.loadgen.records import value

TICK_S = 0.02
MAX_RECORDS = 50_000_000
MAX_SECONDS = 24 * 3600.0
FLUSH_S = 120.0

Schedule = Sequence[tuple[float, float]]
"""Steps of (seconds, records/s)."""


@dataclass(slots=True)
class Summary:
    """What was produced: enough to verify the output."""

    run: str
    topic: str
    sequences: int = 0
    acknowledged: int = 0
    partitions: dict[str, int] = field(default_factory=dict)
    unacknowledged: list[int] = field(default_factory=list)
    seconds: float = 0.0

    def document(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


def parse_schedule(text: str) -> Schedule:
    """Steps written as `SECONDS:RATE,SECONDS:RATE`; raises ValueError beyond the limits."""
    steps = [(float(s), float(r)) for s, _, r in (part.partition(":") for part in text.split(","))]
    if any(seconds <= 0 or rate < 0 for seconds, rate in steps):
        raise ValueError(f"{text!r}: seconds must be above 0 and rates not below 0")
    if sum(s for s, _ in steps) > MAX_SECONDS or sum(s * r for s, r in steps) > MAX_RECORDS:
        raise ValueError(f"{text!r} goes beyond {MAX_SECONDS:g} s or {MAX_RECORDS} records")
    return steps


def due(schedule: Schedule, elapsed_s: float) -> int:
    """How many records the schedule asks for in its first `elapsed_s` seconds."""
    total = 0.0
    for seconds, rate in schedule:
        total += min(seconds, max(0.0, elapsed_s)) * rate
        elapsed_s -= seconds
    return int(total + 1e-9)


def cut(schedule: Schedule, elapsed_s: float) -> Schedule:
    """The schedule with the current step ended now; what was due until now stays the same."""
    steps: list[tuple[float, float]] = []
    begin_s = 0.0
    for seconds, rate in schedule:
        under_way = begin_s <= elapsed_s < begin_s + seconds
        steps.append((elapsed_s - begin_s if under_way else seconds, rate))
        begin_s += seconds
    return steps


def produce(
    bootstrap: str,
    topic: str,
    schedule: Schedule,
    size: int = 100,
    *,
    skip: Callable[[], bool] = lambda: False,
    hot: float = 0.0,
) -> Summary:
    """Run the schedule to its end; each record is retried for two minutes without a broker.

    `topic` may be several with commas between them, which get records in turn. A share `hot` of
    the records goes to partition 0, the others to all. `skip` is polled; once it returns true, the
    current step ends.
    """
    summary, topics = Summary(run=secrets.token_hex(4).upper(), topic=topic), topic.split(",")
    partitions: Counter[int | None] = Counter()
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 5,
            "sticky.partitioning.linger.ms": 0,  # choose a partition for each record
            "topic.metadata.refresh.interval.ms": 10_000,  # new partitions get records soon
            "delivery.timeout.ms": int(FLUSH_S * 1000),
            "log_level": 0,
        }
    )

    def delivered(sequence: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            partitions[message.partition()] += 1
        else:
            summary.unacknowledged.append(sequence)

    begin = time.monotonic()
    while (elapsed := time.monotonic() - begin) < (
        length := sum(seconds for seconds, _ in schedule)
    ) or summary.sequences < due(schedule, length):
        if skip():
            schedule = cut(schedule, elapsed)
        for sequence in range(summary.sequences, due(schedule, elapsed)):
            # evenly spaced, not at random: the same share in every second
            to_hot = int((sequence + 1) * hot) > int(sequence * hot)
            where = {"partition": 0} if to_hot else {}
            target, payload = topics[sequence % len(topics)], value(summary.run, sequence, size)
            _send(producer, target, payload, sequence, delivered, **where)
            summary.sequences += 1
        producer.poll(TICK_S)
    producer.flush(FLUSH_S)
    summary.seconds = round(time.monotonic() - begin, 3)
    summary.acknowledged = sum(partitions.values())
    summary.partitions = {str(p): n for p, n in sorted(partitions.items())}
    settled = summary.acknowledged + len(summary.unacknowledged)
    if settled != summary.sequences:
        raise RuntimeError(f"Kafka did not answer for {summary.sequences - settled} records")
    return summary


def _send(
    producer: Any, topic: str, payload: bytes, sequence: int, delivered: Any, **where: int
) -> None:
    while True:
        try:
            producer.produce(
                topic,
                value=payload,
                on_delivery=lambda error, message: delivered(sequence, error, message),
                **where,
            )
            return
        except BufferError:  # the queue is full: let it drain
            producer.poll(0.1)

"""Reads a topic from beginning to end and counts what happened to a run's records."""

from __future__ import annotations

import time
from collections.abc import Iterator

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition
from dev.loadgen.records import Tally, Verdict

IDLE_S = 30.0


def read_all(bootstrap: str, topic: str, timeout_s: float = 600.0) -> Iterator[bytes | None]:
    """Every value that is in the topic now; raises TimeoutError if it takes too long."""
    return (message.value() for message in read_messages(bootstrap, topic, timeout_s))


def read_messages(bootstrap: str, topic: str, timeout_s: float = 600.0) -> Iterator[Message]:
    """Every record that is in the topic now; raises TimeoutError if it takes too long."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "trimtab-verify",  # required, never committed to
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "log_level": 0,
        }
    )
    try:
        found = consumer.list_topics(topic, timeout=IDLE_S).topics[topic]
        if found.error is not None:
            raise KafkaException(found.error)
        open_partitions = set(found.partitions)
        consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in open_partitions])
        deadline = time.monotonic() + timeout_s
        while open_partitions:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{topic}: not read to the end within {timeout_s:g} s")
            for message in consumer.consume(10_000, timeout=1.0):
                error = message.error()
                if error is None:
                    yield message
                elif error.name() == "_PARTITION_EOF":
                    open_partitions.discard(message.partition())
                else:
                    raise KafkaException(error)
    finally:
        consumer.close()


def verify(
    bootstrap: str, topic: str, run: str, sequences: int, unacknowledged: frozenset[int]
) -> Verdict:
    """Compare the topic with a summary's run, sequences and unacknowledged records."""
    tally = Tally(run, sequences)
    for payload in read_all(bootstrap, topic):
        tally.add(payload)
    return tally.verdict(unacknowledged)

"""Reads the timestamps of single records, to know how long a query's position has been waiting."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import OFFSET_INVALID, TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaException
from confluent_kafka import TopicPartition as Position

from trimtab.api.connection import KafkaConnection
from trimtab.kafka import librdkafka

PATIENCE_S = 3.0
"""Seconds for all records together."""


def timestamps(
    connection: KafkaConnection, positions: Mapping[tuple[str, int], int]
) -> dict[tuple[str, int], float]:
    """When the records at these offsets were written, in seconds since 1970.

    Where a record has gone, the next one counts. Unknown ones are missing: no answer in time, no
    record there, or no timestamp.
    """
    found: dict[tuple[str, int], float] = {}
    consumer = Consumer(
        {
            **librdkafka.properties(connection),
            "client.id": "trimtab-driver",
            "group.id": "trimtab-lag",  # required, never used: nothing is committed
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    try:
        consumer.assign([Position(topic, number, at) for (topic, number), at in positions.items()])
        # twice as often as there are records: that the group may not be used comes up as one too
        for _ in range(2 * len(positions)):
            message = consumer.poll(PATIENCE_S / len(positions) / 2)
            if message is None or message.error():
                continue
            key = (str(message.topic()), int(message.partition() or 0))
            kind, stamp_ms = message.timestamp()
            if kind != TIMESTAMP_NOT_AVAILABLE and stamp_ms >= 0:
                found.setdefault(key, stamp_ms / 1000)
            if message.offset() != OFFSET_INVALID:
                consumer.incremental_unassign([Position(*key)])
            if found.keys() == positions.keys():
                break
    except KafkaException:
        return found
    finally:
        consumer.close()
    return found

"""Drives a producer as fast as it goes and measures its rate, latency and round trip."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from trimtab.api.connection import KafkaConnection
from trimtab.errors import BadInputError, UnavailableError
from trimtab.kafka import librdkafka
from trimtab.tuning.producer import Probe, ProducerSettings

WARM_S = 0.5
"""Ignored at the start of each probe: metadata, connections, the first batches."""

SAMPLE, POLLED = 32, 256
"""Times one record in 32; serves the callbacks once in 256."""

CONNECT_S = 15.0
FLUSH_S = 30.0
PAYLOADS = 64


@dataclass(slots=True)
class _Meter:
    """What a producer's callbacks report."""

    latencies: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    round_trips_us: list[float] = field(default_factory=list)

    def stats(self, text: str) -> None:
        """Mean round trip of requests to brokers, from librdkafka's statistics."""
        for broker in json.loads(text)["brokers"].values():
            rtt = broker.get("rtt") or {}
            if broker.get("nodeid", -1) >= 0 and rtt.get("cnt"):
                self.round_trips_us.append(float(rtt["avg"]))


def payloads(record_bytes: int) -> list[bytes]:
    """Records that compress about as well as logs do: words from a small set, in JSON."""
    rng = random.Random("trimtab/produce")  # noqa: S311 -- a load, not a secret
    words = [f"{rng.randrange(16**6):06x}" for _ in range(256)]
    texts = ('{"v":"' + " ".join(rng.choices(words, k=record_bytes // 6)) for _ in range(PAYLOADS))
    return [text[: record_bytes - 2].ljust(record_bytes - 2).encode() + b'"}' for text in texts]


def _configuration(
    connection: KafkaConnection, settings: ProducerSettings, meter: _Meter
) -> dict[str, Any]:
    return {
        **librdkafka.properties(connection),
        "enable.idempotence": True,
        "acks": "all",
        "batch.size": settings.batch_bytes,
        "batch.num.messages": 1_000_000,
        "linger.ms": settings.linger_ms,
        "compression.type": settings.compression,
        "max.in.flight.requests.per.connection": settings.in_flight,
        "queue.buffering.max.kbytes": max(1, settings.pending_bytes // 1024),
        "queue.buffering.max.messages": 10_000_000,
        "statistics.interval.ms": 200,
        "stats_cb": meter.stats,
        "log_level": 0,
    }


def probe(
    connection: KafkaConnection, topic: str, settings: ProducerSettings, *, seconds: float,
    records: list[bytes],
) -> Probe:  # fmt: skip
    """Send for some seconds as fast as the settings allow; returns the measurement.

    Raises:
        UnavailableError: the broker does not answer, or a record was not acknowledged.
        BadInputError: the client cannot use what the connection says.
    """
    meter = _Meter()
    try:
        producer = Producer(_configuration(connection, settings, meter))
    except KafkaException as error:
        raise BadInputError(f"Kafka's client refuses its configuration: {_words(error)}") from error
    _connect(producer, topic, connection.servers)
    _send(producer, topic, records, _now() + WARM_S, meter)
    meter.latencies.clear()
    meter.round_trips_us.clear()
    waiting, begin = len(producer), _now()
    sent = _send(producer, topic, records, begin + seconds, meter)
    acknowledged, took_s = sent + waiting - len(producer), _now() - begin
    latencies, round_trips = sorted(meter.latencies), meter.round_trips_us or [0.0]
    producer.flush(FLUSH_S)
    if meter.failures or not latencies or len(producer):
        why = meter.failures[0] if meter.failures else f"no record in {seconds:g} s"
        raise UnavailableError(f"{connection.servers}: records were not acknowledged: {why}")
    return Probe(
        settings,
        rate=acknowledged * len(records[0]) / took_s,
        p95_s=latencies[int(0.95 * (len(latencies) - 1))],
        round_trip_s=sum(round_trips) / len(round_trips) / 1e6,
    )


def _now() -> float:
    return time.perf_counter()  # noqa: TID251 -- it times a real producer


def _send(
    producer: Producer, topic: str, records: list[bytes], until_s: float, meter: _Meter
) -> int:
    """Produce records until a given time; returns how many."""
    for count, record in enumerate(itertools.cycle(records)):
        at = _now()
        if at >= until_s:
            return count
        timed = _timer(meter, at) if count % SAMPLE == 0 else None
        while not _offer(producer, topic, record, timed):
            producer.poll(0.002)
        if count % POLLED == 0:
            producer.poll(0)
    return 0


def _connect(producer: Producer, topic: str, servers: str) -> None:
    try:
        known = producer.list_topics(topic, timeout=CONNECT_S).topics[topic]
    except KafkaException as error:
        raise UnavailableError(f"{servers} does not answer: {error}") from error
    if known.error:
        raise UnavailableError(f"{servers}: topic {topic!r}: {known.error.str()}: create it first")


def _words(error: KafkaException) -> str:
    return str(error.args[0].str()) if error.args else str(error)


def _timer(meter: _Meter, at: float) -> Callable[[KafkaError | None, Message], None]:
    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            meter.failures.append(error.str())
        else:
            meter.latencies.append(_now() - at)

    return delivered


def _offer(producer: Producer, topic: str, record: bytes, timed: Any) -> bool:
    """Produce one record; returns False if the producer's buffer is full."""
    try:
        if timed is None:
            producer.produce(topic, record)
        else:
            producer.produce(topic, record, on_delivery=timed)
    except BufferError:
        return False
    return True

"""`trimtab produce`: a load on a topic, with a producer that tunes itself by short probes."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from trimtab.errors import UnavailableError
from trimtab.tuning.producer import Probe, ProducerSettings
from trimtab.tuning.producer_search import best_of, next_probe

WARM_S = 0.5
"""Of each probe left out: metadata, connections, the first batches."""

SAMPLE, POLLED = 32, 256
"""Every so manieth record is timed; after every so many the callbacks are served."""

CONNECT_S = 15.0
FLUSH_S = 30.0
PAYLOADS = 64


@dataclass(slots=True)
class _Meter:
    """What a producer's callbacks tell."""

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
    """Records that compress about as text of machines does: words from a small set, in JSON."""
    rng = random.Random("trimtab/produce")  # noqa: S311 -- a load, no secret
    words = [f"{rng.randrange(16**6):06x}" for _ in range(256)]
    texts = ('{"v":"' + " ".join(rng.choices(words, k=record_bytes // 6)) for _ in range(PAYLOADS))
    return [text[: record_bytes - 2].ljust(record_bytes - 2).encode() + b'"}' for text in texts]


def _configuration(bootstrap: str, settings: ProducerSettings, meter: _Meter) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap,
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
    bootstrap: str, topic: str, settings: ProducerSettings, *, seconds: float, records: list[bytes]
) -> Probe:
    """Send as fast as the settings let for some seconds, and say what came of it.

    Raises:
        UnavailableError: the broker does not answer, or a record was not acknowledged.
    """
    meter = _Meter()
    producer = Producer(_configuration(bootstrap, settings, meter))
    _connect(producer, topic, bootstrap)
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
        raise UnavailableError(f"{bootstrap}: records were not acknowledged: {why}")
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
    """Hand records over until a time; how many."""
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


def _connect(producer: Producer, topic: str, bootstrap: str) -> None:
    try:
        known = producer.list_topics(topic, timeout=CONNECT_S).topics[topic]
    except KafkaException as error:
        raise UnavailableError(f"{bootstrap} does not answer: {error}") from error
    if known.error:
        raise UnavailableError(f"{bootstrap}: topic {topic!r}: {known.error.str()}: make it first")


def _timer(meter: _Meter, at: float) -> Callable[[KafkaError | None, Message], None]:
    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            meter.failures.append(error.str())
        else:
            meter.latencies.append(_now() - at)

    return delivered


def _offer(producer: Producer, topic: str, record: bytes, timed: Any) -> bool:
    """Whether there was room in the producer's memory."""
    try:
        if timed is None:
            producer.produce(topic, record)
        else:
            producer.produce(topic, record, on_delivery=timed)
    except BufferError:
        return False
    return True


KNOBS = ("batch_bytes", "in_flight", "linger_ms", "compression")


def run(
    options: dict[str, Any], goal_s: float | None, tell: Callable[[str], None]
) -> dict[str, Any]:
    """The load of the command's options, tuned first where there is a goal; as plain values.

    Raises:
        UnavailableError: the broker does not answer, or a record was not acknowledged.
    """
    given = {name: options[name] for name in KNOBS if options[name] is not None}
    records = payloads(options["record_bytes"])

    def measure(settings: ProducerSettings, seconds: float) -> Probe:
        return probe(
            options["bootstrap_servers"], options["topic"], replace(settings, **given),
            seconds=seconds, records=records,
        )  # fmt: skip

    settings, probes = ProducerSettings(), 0
    if goal_s is not None:
        best, seen = tune(lambda each: measure(each, options["probe_seconds"]), goal_s, tell)
        settings, probes = best.settings, len(seen)
    done = measure(settings, options["seconds"])
    return {
        "settings": asdict(done.settings),
        "probes": probes,
        "records_per_s": round(done.rate / options["record_bytes"]),
        "megabytes_per_s": round(done.rate / 1e6, 2),
        "p95_ms": round(1000 * done.p95_s, 1),
        "round_trip_ms": round(1000 * done.round_trip_s, 1),
    }


def in_words(result: dict[str, Any]) -> str:
    """The result on one line."""
    return (
        f"{ProducerSettings(**result['settings'])}: {result['records_per_s']} records/s,"
        f" {result['megabytes_per_s']} MB/s, p95 {result['p95_ms']} ms"
    )


def tune(
    measure: Callable[[ProducerSettings], Probe], goal_s: float, tell: Callable[[str], None]
) -> tuple[Probe, list[Probe]]:
    """Probe until the tuner is done; the best, and all of them in order."""
    probes: list[Probe] = []
    while (step := next_probe(probes, goal_s)).settings is not None:
        seen = measure(step.settings)
        probes.append(seen)
        tell(
            f"{step.settings}: {seen.rate / 1e6:.1f} MB/s, p95 {1000 * seen.p95_s:.0f} ms,"
            f" round trip {1000 * seen.round_trip_s:.1f} ms ({step.reason})"
        )
    best = best_of(probes, goal_s)
    held = "holds" if best.p95_s <= goal_s else "no setting holds the goal; least latency:"
    tell(f"done: {step.reason}; {held} {best.settings}, {best.rate / 1e6:.1f} MB/s")
    return best, probes

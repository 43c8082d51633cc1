"""A Kafka producer's settings, the result of a probe, and the steps that could carry more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from trimtab.api.knobs import PRODUCER_BATCH, PRODUCER_IN_FLIGHT

MOST_IN_FLIGHT = int(PRODUCER_IN_FLIGHT.maximum)
"""Most requests in flight at which an idempotent producer keeps the order of a partition."""

LEAST_BATCH, MOST_BATCH = int(PRODUCER_BATCH.default), int(PRODUCER_BATCH.maximum)
"""Bytes of a batch: Kafka's default, and the most that a broker accepts by default."""

STEP = 8
"""Largest factor of one step of the batch size."""

MANY = 4
"""Requests in flight where all knobs are raised at once."""

ALIKE = 1.1
"""Batch sizes that differ by less than this factor are alike: probing both only shows noise."""


class Step(StrEnum):
    """A way to carry more; in the order for a saturated pipe."""

    BATCH = "larger batches"
    IN_FLIGHT = "more in flight"
    COMPRESSION = "fewer bytes"


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """The knobs of a producer; the start is one request in flight, as in every calibration."""

    batch_bytes: int = LEAST_BATCH
    in_flight: int = 1
    compression: str = "none"
    linger_ms: int = 5

    @property
    def pending_bytes(self) -> int:
        """Most bytes that wait in memory: those in flight, and as many being collected."""
        return 2 * self.in_flight * self.batch_bytes

    def alike(self, other: ProducerSettings) -> bool:
        """Whether two settings differ at most slightly, in the batch size."""
        larger = max(self.batch_bytes, other.batch_bytes)
        near = larger < ALIKE * min(self.batch_bytes, other.batch_bytes)
        return near and replace(self, batch_bytes=other.batch_bytes) == other

    def __str__(self) -> str:
        return (
            f"batch.size={self.batch_bytes} max.in.flight={self.in_flight}"
            f" compression={self.compression} linger.ms={self.linger_ms}"
        )


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of one setting."""

    settings: ProducerSettings
    rate: float
    """Bytes/s of acknowledged records."""
    p95_s: float
    """95th percentile of the time from the send to the acknowledgement."""
    round_trip_s: float
    """Mean seconds of a request."""

    @property
    def pipe(self) -> float:
        """f·B/R in bytes/s."""
        batch = self.settings.batch_bytes * self.settings.in_flight
        return batch / max(self.round_trip_s, 1e-4)


def more(
    now: ProducerSettings, room: float = STEP, in_flight: int = MOST_IN_FLIGHT
) -> dict[Step, ProducerSettings]:
    """The steps that could carry more through a saturated pipe, in order.

    `room` is the largest factor of the batch size, `in_flight` the most requests.
    """
    larger = max(now.batch_bytes, rounded(now.batch_bytes * room))
    most = max(now.in_flight, min(in_flight, MOST_IN_FLIGHT))
    fewer_bytes = "lz4" if now.compression == "none" else now.compression
    steps = {
        Step.BATCH: replace(now, batch_bytes=larger),
        Step.IN_FLIGHT: replace(now, in_flight=most),
        Step.COMPRESSION: replace(now, compression=fewer_bytes),
    }
    return {step: settings for step, settings in steps.items() if settings != now}


def together(
    now: ProducerSettings, batch_bytes: int = MOST_BATCH, in_flight: int = MANY
) -> ProducerSettings:
    """All steps at once: where producer and broker take turns, each alone gains nothing."""
    compression = "lz4" if now.compression == "none" else now.compression
    return replace(
        now,
        batch_bytes=max(now.batch_bytes, batch_bytes),
        in_flight=max(now.in_flight, in_flight),
        compression=compression,
    )


def rounded(wanted: float) -> int:
    """Rounded down to a multiple of 16 KiB; at least 16 KiB, at most 1 MB."""
    return min(max(int(wanted) // LEAST_BATCH, 1) * LEAST_BATCH, MOST_BATCH)

"""The producer tuner: batch size, requests in flight and compression of a Kafka producer.

A producer sends batches of B bytes, f requests at a time, each of which takes a round trip R. By
Little's law no more than f·B/R bytes/s pass (after Kafka's design of a pipelining producer, seed
001). While the rate is near that, the pipe binds: more requests in flight first, since they cost no
latency, then larger batches. Where it is not, the processors bind, and what is left is compression
and fewer, larger requests. Records wait in memory for no more than twice what is in flight, so that
larger batches and more of them in flight are paid with latency, and the goal decides.

Bang-bang: a probe that misses the goal is backed off from, one that meets it is built upon; a
change that brings less than 3 % is put back, and two such knobs in a row end it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from trimtab.api.knobs import PRODUCER_BATCH, PRODUCER_IN_FLIGHT

MOST_IN_FLIGHT = int(PRODUCER_IN_FLIGHT.maximum)
"""An idempotent producer keeps the order of a partition up to so many requests in flight."""

LEAST_BATCH, MOST_BATCH = int(PRODUCER_BATCH.default), int(PRODUCER_BATCH.maximum)
"""Bytes of a batch: Kafka's default, and what a broker takes by default."""

PIPE_FULL = 0.3
"""Share of f·B/R from which on the requests in flight are what is waited for."""

SLACK = 1.2
"""Requests in flight beyond those that the rate needs, where fewer are tried."""

STEP = 8
"""Largest factor of one step of the batch."""

BACK = 0.9
"""Share of the goal that a batch which missed it is brought to."""

MORE = 0.03
"""Least share by which a change must raise the rate."""

ALIKE = 1.1
"""Batches that differ by less than this factor say the same: to probe both asks the noise."""

NEAR = 0.6
"""Share of the goal from which on a choice is probed once more: the p95 of a probe of two seconds
was seen half as large again when it was repeated."""

MAX_PROBES = 8


class Step(StrEnum):
    """A way to carry more."""

    IN_FLIGHT = "more in flight"
    BATCH = "larger batches"
    COMPRESSION = "fewer bytes"


FULL_WORDS = {step: str(step) for step in Step}
IDLE_WORDS = {Step.COMPRESSION: "fewer bytes", Step.BATCH: "fewer requests"}
"""Where the pipe does not bind, more in flight gain nothing, and the order is the reverse."""


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """The knobs of a producer; the start is max-pending 1, as in every calibration."""

    batch_bytes: int = LEAST_BATCH
    in_flight: int = 1
    compression: str = "none"
    linger_ms: int = 5

    @property
    def pending_bytes(self) -> int:
        """Most bytes that wait in memory: what is in flight, and as much being collected."""
        return 2 * self.in_flight * self.batch_bytes

    def alike(self, other: ProducerSettings) -> bool:
        """Whether two settings differ by no more than a little of the batch."""
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
    """What one setting gave."""

    settings: ProducerSettings
    rate: float
    """Bytes/s of records that were acknowledged."""
    p95_s: float
    """95th percentile of the time from the send to the acknowledgement."""
    round_trip_s: float
    """Seconds of a request, in the mean."""

    @property
    def pipe(self) -> float:
        """f·B/R in bytes/s."""
        batch = self.settings.batch_bytes * self.settings.in_flight
        return batch / max(self.round_trip_s, 1e-4)


@dataclass(frozen=True, slots=True)
class Next:
    """What to probe next, and why; no settings: it is over."""

    settings: ProducerSettings | None
    reason: str


def best_of(probes: Sequence[Probe], goal_s: float) -> Probe:
    """The fastest probe whose settings held the goal each time; where none did, the quickest one.

    Settings that were probed twice are judged by the worse of both.
    """
    worst = [max(p.p95_s for p in probes if p.settings == each.settings) for each in probes]
    holding = [p for p, worst_s in zip(probes, worst, strict=True) if worst_s <= goal_s]
    if holding:
        return max(holding, key=lambda p: p.rate)
    return min(zip(worst, probes, strict=True), key=lambda each: each[0])[1]


def next_probe(probes: Sequence[Probe], goal_s: float) -> Next:
    """The next settings to try, from the probes so far (none: the start); pure.

    What the search ends with was the best of several by luck too: where it is near the goal, it is
    probed once more, for which the last probe is kept.
    """
    if not probes:
        return Next(ProducerSettings(), "the start: one small batch at a time")
    best = best_of(probes, goal_s)
    found = _search(probes, best, goal_s)
    seen = sum(p.settings == best.settings for p in probes)
    if seen == 1 and len(probes) < MAX_PROBES and NEAR * goal_s < best.p95_s <= goal_s:
        if found.settings is None:
            return Next(best.settings, f"once more, {found.reason}")
        if len(probes) == MAX_PROBES - 1:
            return Next(best.settings, "once more, before it is chosen")
    return found


def _search(probes: Sequence[Probe], best: Probe, goal_s: float) -> Next:
    """The next step of the search itself."""
    tried = [p.settings for p in probes]
    if len(probes) >= MAX_PROBES:
        return Next(None, f"{MAX_PROBES} probes")
    if _useless(probes, goal_s) >= 2:
        return Next(None, f"two changes in a row brought less than {MORE:.0%}")
    last = probes[-1]
    if last.p95_s > goal_s and (back := _back(last, best, goal_s)) and back not in tried:
        return Next(back, f"p95 {1000 * last.p95_s:.0f} ms is above the goal: smaller batches")
    for settings, reason in _offers(probes, best, goal_s):
        if not any(settings.alike(before) for before in tried):
            return Next(settings, reason)
    return Next(None, "no knob is left that could help")


def _useless(probes: Sequence[Probe], goal_s: float) -> int:
    """Changes in a row, up to the last, that held the goal and brought no more."""
    count = 0
    for index in range(len(probes) - 1, 0, -1):
        before = best_of(probes[:index], goal_s)
        probe = probes[index]
        if probe.p95_s > goal_s or probe.rate >= (1 + MORE) * before.rate:
            break
        count += 1
    return count


def _back(last: Probe, best: Probe, goal_s: float) -> ProducerSettings | None:
    """The batch that would just hold the goal: latency grows with what waits, so with B."""
    wanted = last.settings.batch_bytes * BACK * goal_s / last.p95_s
    least = best.settings.batch_bytes if best.p95_s <= goal_s else LEAST_BATCH
    batch = _rounded(wanted)
    if batch <= least and best.p95_s <= goal_s:
        return None
    return replace(last.settings, batch_bytes=batch)


def _offers(
    probes: Sequence[Probe], best: Probe, goal_s: float
) -> list[tuple[ProducerSettings, str]]:
    """What could carry more than the best, the least disruptive first."""
    now = best.settings
    full = best.rate >= PIPE_FULL * best.pipe
    near = goal_s / max(best.p95_s, 1e-4)
    # a pipe that binds passes larger batches in the same time; else they take longer each
    room = STEP if full else min(STEP, max(2.0, near))
    # a larger one has missed the goal: no further than where latency in proportion would hold it
    if any(p.p95_s > goal_s and p.settings.batch_bytes > now.batch_bytes for p in probes):
        room = min(room, max(1.0, BACK * near))
    pipe = f"{now.in_flight} × {now.batch_bytes} bytes / {1000 * best.round_trip_s:.1f} ms"
    why = f"{pipe} binds" if full else "the pipe does not bind"
    steps = more(now, room) if full else more(now, room)[::-1]
    told = FULL_WORDS if full else IDLE_WORDS
    offers = [(settings, f"{why}: {told[step]}") for step, settings in steps if step in told]
    if fewer := _fewer(best):
        words = f"{fewer.in_flight} in flight would do: as many bytes in fewer requests"
        offers.append((fewer, words))
    return offers


def more(now: ProducerSettings, room: float = STEP) -> list[tuple[Step, ProducerSettings]]:
    """What could carry more through a pipe that binds, in order; `room` is the batch's factor."""
    larger = max(now.batch_bytes, _rounded(now.batch_bytes * room))
    steps = (
        (Step.IN_FLIGHT, replace(now, in_flight=max(now.in_flight, MOST_IN_FLIGHT))),
        (Step.BATCH, replace(now, batch_bytes=larger)),
        (Step.COMPRESSION, replace(now, compression="lz4" if now.compression == "none"
                                   else now.compression)),
    )  # fmt: skip
    return [(step, settings) for step, settings in steps if settings != now]


def _fewer(best: Probe) -> ProducerSettings | None:
    """The same bytes in flight in fewer, larger requests, where the pipe has room for it."""
    now = best.settings
    enough = math.ceil(SLACK * best.rate * best.round_trip_s / now.batch_bytes)
    if enough >= now.in_flight:
        return None
    batch = _rounded(now.batch_bytes * now.in_flight / enough)
    return replace(now, in_flight=enough, batch_bytes=batch) if batch > now.batch_bytes else None


def _rounded(wanted: float) -> int:
    """The largest multiple of 16 KiB that is not larger; at least that, at most 1 MB."""
    return min(max(int(wanted) // LEAST_BATCH, 1) * LEAST_BATCH, MOST_BATCH)

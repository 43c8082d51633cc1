"""The producer tuner: batch size, requests in flight and compression of a Kafka producer.

A producer sends batches of B bytes, f requests at a time, each of which takes a round trip R. By
Little's law no more than f·B/R bytes/s pass (after Kafka's design of a pipelining producer, seed
001). While the rate is near that, the pipe binds: larger batches first, since a round trip takes
about as long with them, then more requests in flight. Where it is not, the processors bind, and
what is left is compression and fewer, larger requests. No more than twice what is in flight waits
in memory, so latency is 2·f·B over the rate: it grows with what the rate does not follow, most
with requests in flight (docs/benchmarks/producer.md), and the goal decides.

Bang-bang: a probe that misses the goal is backed off from, the fastest that holds it is built upon.
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
"""Share of the goal that what missed it is brought to."""

ALIKE = 1.1
"""Batches that differ by less than this factor say the same: to probe both asks the noise."""

FEW = 3
"""Largest factor of one step of the requests in flight."""

PAIR = 2.0
"""Factor by which one step of the requests in flight may go beyond latency in proportion to them:
two were seen to wait hardly longer than one."""

NEAR = 0.75
"""Share of the goal from which on a choice is probed once more: the p95 of a probe of two seconds
was seen half as large again when it was repeated."""

MAX_PROBES = 8


class Step(StrEnum):
    """A way to carry more; in the order of a pipe that binds."""

    BATCH = "larger batches"
    IN_FLIGHT = "more in flight"
    COMPRESSION = "fewer bytes"


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
    probed once more, for which the last probe is kept, unless there is a miss to back off from.
    """
    if not probes:
        return Next(ProducerSettings(), "the start: one small batch at a time")
    best = best_of(probes, goal_s)
    found = _search(probes, best, goal_s)
    seen = sum(p.settings == best.settings for p in probes)
    if seen == 1 and len(probes) < MAX_PROBES and NEAR * goal_s < best.p95_s <= goal_s:
        if found.settings is None:
            return Next(best.settings, f"once more, {found.reason}")
        if len(probes) == MAX_PROBES - 1 and probes[-1].p95_s <= goal_s:
            return Next(best.settings, "once more, before it is chosen")
    return found


def _search(probes: Sequence[Probe], best: Probe, goal_s: float) -> Next:
    """The next step of the search itself."""
    tried = [p.settings for p in probes]
    if len(probes) >= MAX_PROBES:
        return Next(None, f"{MAX_PROBES} probes")
    last = probes[-1]
    if last.p95_s > goal_s and (back := _back(last, best, goal_s)) and back not in tried:
        what = "smaller batches" if back.in_flight == last.settings.in_flight else "fewer in flight"
        return Next(back, f"p95 {1000 * last.p95_s:.0f} ms is above the goal: {what}")
    for settings, reason in _offers(probes, best, goal_s):
        if not any(settings.alike(before) for before in tried):
            return Next(settings, reason)
    return Next(None, "no knob is left that could help")


def _back(last: Probe, best: Probe, goal_s: float) -> ProducerSettings | None:
    """Between the best and what missed the goal: less of what was raised; None: nothing is."""
    now, held, share = last.settings, best.settings, BACK * goal_s / last.p95_s
    fewer = replace(now, in_flight=max(1, int(now.in_flight * share)))
    smaller = replace(now, batch_bytes=_rounded(now.batch_bytes * share))
    if best.p95_s > goal_s:
        return fewer if fewer != now else smaller
    if now.batch_bytes > held.batch_bytes:
        return smaller if smaller.batch_bytes > held.batch_bytes else None
    between = min(now.in_flight - 1, max(held.in_flight + 1, fewer.in_flight))
    return replace(now, in_flight=between) if between > held.in_flight else None


def _offers(
    probes: Sequence[Probe], best: Probe, goal_s: float
) -> list[tuple[ProducerSettings, str]]:
    """What could carry more than the best, in order."""
    now, near = best.settings, goal_s / max(best.p95_s, 1e-4)
    full = best.rate >= PIPE_FULL * best.pipe
    # a pipe that binds passes larger batches in the same time; else they take longer each
    room = STEP if full else min(STEP, max(2.0, near))
    # a larger one has missed the goal: no further than where latency in proportion would hold it
    if any(p.p95_s > goal_s and p.settings.batch_bytes > now.batch_bytes for p in probes):
        room = min(room, max(1.0, BACK * near))
    few = min(FEW * now.in_flight, int(PAIR * near * now.in_flight))
    steps = more(now, room, max(now.in_flight + 1, few))
    if not full:
        told = [(step, words) for step, words in IDLE_WORDS.items() if step in steps]
        return [(steps[step], f"the pipe does not bind: {words}") for step, words in told]
    above = [p for p in probes if _more_in_flight(p.settings, now)]
    late = {Step.IN_FLIGHT} if above or BACK * near < 1 else set()
    offers = [(settings, str(step)) for step, settings in steps.items() if step not in late]
    if above and (between := _between(above, now, goal_s)):
        offers.append((between, "between what was tried"))
    if wide := steps.get(Step.IN_FLIGHT):
        if not above:
            offers.append((wide, Step.IN_FLIGHT))
        # either alone may gain nothing: the processors bind without it, the pipe with it
        offers.append((replace(wide, compression="lz4"), "more in flight, and fewer bytes"))
    pipe = f"{now.in_flight} × {now.batch_bytes} bytes / {1000 * best.round_trip_s:.1f} ms binds"
    offers = [(settings, f"{pipe}: {words}") for settings, words in offers]
    enough = math.ceil(SLACK * best.rate * best.round_trip_s / now.batch_bytes)
    if enough < now.in_flight:
        offers.append((replace(now, in_flight=enough), f"{enough} in flight would do"))
    return offers


def _more_in_flight(other: ProducerSettings, now: ProducerSettings) -> bool:
    """Whether the other differs by more requests in flight alone."""
    return other.in_flight > now.in_flight and replace(other, in_flight=now.in_flight) == now


def _between(
    above: Sequence[Probe], now: ProducerSettings, goal_s: float
) -> ProducerSettings | None:
    """Where more in flight missed the goal or brought nothing: half as many more, else smaller."""
    least = min(above, key=lambda p: p.settings.in_flight)
    half = (now.in_flight + least.settings.in_flight) // 2
    if half > now.in_flight:
        return replace(now, in_flight=half)
    batch = _rounded(now.batch_bytes * min(1.0, BACK * goal_s / least.p95_s))
    smaller = replace(least.settings, batch_bytes=batch)
    return smaller if smaller.pending_bytes > now.pending_bytes else None


def more(
    now: ProducerSettings, room: float = STEP, in_flight: int = MOST_IN_FLIGHT
) -> dict[Step, ProducerSettings]:
    """What could carry more through a pipe that binds, in order.

    `room` is the largest factor of the batch, `in_flight` the most requests.
    """
    larger = max(now.batch_bytes, _rounded(now.batch_bytes * room))
    most = max(now.in_flight, min(in_flight, MOST_IN_FLIGHT))
    fewer_bytes = "lz4" if now.compression == "none" else now.compression
    steps = {
        Step.BATCH: replace(now, batch_bytes=larger),
        Step.IN_FLIGHT: replace(now, in_flight=most),
        Step.COMPRESSION: replace(now, compression=fewer_bytes),
    }
    return {step: settings for step, settings in steps.items() if settings != now}


def _rounded(wanted: float) -> int:
    """The largest multiple of 16 KiB that is not larger; at least that, at most 1 MB."""
    return min(max(int(wanted) // LEAST_BATCH, 1) * LEAST_BATCH, MOST_BATCH)

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trimtab.tuning.producer import STEP, Probe, ProducerSettings, Step, more, rounded

PIPE_FULL = 0.3
"""Share of f·B/R from which on the requests in flight are what is waited for."""

SLACK = 1.2
"""Requests in flight beyond those that the rate needs, where fewer are tried."""

BACK = 0.9
"""Share of the goal that what missed it is brought to."""

FEW = 3
"""Largest factor of one step of the requests in flight."""

PAIR = 2.0
"""Factor by which one step of the requests in flight may go beyond latency in proportion to them:
two were seen to wait hardly longer than one."""

NEAR = 0.75
"""Share of the goal from which on a choice is probed once more: the p95 of a probe of two seconds
was seen half as large again when it was repeated."""

MAX_PROBES = 8


IDLE_WORDS = {Step.COMPRESSION: "fewer bytes", Step.BATCH: "fewer requests"}
"""Where the pipe does not bind, more in flight gain nothing, and the order is the reverse."""


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

    The rules are asked in order, and the first that has something to try is followed.
    """
    if not probes:
        return Next(ProducerSettings(), "the start: one small batch at a time")
    best = best_of(probes, goal_s)
    search = Search(probes, best, goal_s)
    found = _search(search)
    return _once_more(search, found) or found


@dataclass(frozen=True, slots=True)
class Search:
    """The probes so far, the best of them, and the goal in seconds."""

    probes: Sequence[Probe]
    best: Probe
    goal_s: float

    @property
    def now(self) -> ProducerSettings:
        """The settings that are built upon."""
        return self.best.settings

    @property
    def near(self) -> float:
        """The goal over the latency of the best."""
        return self.goal_s / max(self.best.p95_s, 1e-4)

    @property
    def full(self) -> bool:
        """Whether the pipe binds: the requests in flight are what is waited for."""
        return self.best.rate >= PIPE_FULL * self.best.pipe

    @property
    def more_in_flight(self) -> list[Probe]:
        """What was tried that differs from the best by more requests in flight alone."""
        return [p for p in self.probes if _more_in_flight(p.settings, self.now)]


Offer = tuple[ProducerSettings, str]


def _search(search: Search) -> Next:
    """The next step of the search itself."""
    probes, tried = search.probes, [p.settings for p in search.probes]
    if len(probes) >= MAX_PROBES:
        return Next(None, f"{MAX_PROBES} probes")
    if back := _back_off(search):
        return back
    rules = PIPE_BINDS if search.full else PIPE_FREE
    for settings, reason in (offer for rule in rules for offer in rule(search)):
        if not any(settings.alike(before) for before in tried):
            return Next(settings, reason)
    return Next(None, "no knob is left that could help")


def _once_more(search: Search, found: Next) -> Next | None:
    """What the search ends with may be the best by luck: near the goal it is probed again.

    The last probe is kept for that, unless there is a miss to back off from.
    """
    probes, best, goal_s = search.probes, search.best, search.goal_s
    seen = sum(p.settings == best.settings for p in probes)
    if seen > 1 or len(probes) >= MAX_PROBES or not NEAR * goal_s < best.p95_s <= goal_s:
        return None
    if found.settings is None:
        return Next(best.settings, f"once more, {found.reason}")
    if len(probes) == MAX_PROBES - 1 and probes[-1].p95_s <= goal_s:
        return Next(best.settings, "once more, before it is chosen")
    return None


def _back_off(search: Search) -> Next | None:
    """The last probe missed the goal: less of what was raised."""
    last = search.probes[-1]
    back = _back(last, search.best, search.goal_s) if last.p95_s > search.goal_s else None
    if back is None or any(back == probe.settings for probe in search.probes):
        return None
    what = "smaller batches" if back.in_flight == last.settings.in_flight else "fewer in flight"
    return Next(back, f"p95 {1000 * last.p95_s:.0f} ms is above the goal: {what}")


def _back(last: Probe, best: Probe, goal_s: float) -> ProducerSettings | None:
    """Between the best and what missed the goal: less of what was raised; None: nothing is."""
    now, held, share = last.settings, best.settings, BACK * goal_s / last.p95_s
    fewer = replace(now, in_flight=max(1, int(now.in_flight * share)))
    smaller = replace(now, batch_bytes=rounded(now.batch_bytes * share))
    if best.p95_s > goal_s:
        return fewer if fewer != now else smaller
    if now.batch_bytes > held.batch_bytes:
        return smaller if smaller.batch_bytes > held.batch_bytes else None
    between = min(now.in_flight - 1, max(held.in_flight + 1, fewer.in_flight))
    return replace(now, in_flight=between) if between > held.in_flight else None


def _room(search: Search) -> float:
    """Largest factor of the batch: a pipe that binds passes larger ones in the same time.

    Where a larger one has missed the goal: no further than where latency in proportion would hold.
    """
    room = STEP if search.full else min(STEP, max(2.0, search.near))
    now, goal_s = search.now, search.goal_s
    if any(p.p95_s > goal_s and p.settings.batch_bytes > now.batch_bytes for p in search.probes):
        room = min(room, max(1.0, BACK * search.near))
    return room


def _steps(search: Search) -> dict[Step, ProducerSettings]:
    """What could carry more than the best, each knob for itself."""
    in_flight = search.now.in_flight
    few = min(FEW * in_flight, int(PAIR * search.near * in_flight))
    return more(search.now, _room(search), max(in_flight + 1, few))


def _fewer_requests(search: Search) -> Iterator[Offer]:
    """The processors bind: compression, then fewer and larger requests."""
    steps = _steps(search)
    for step, words in IDLE_WORDS.items():
        if step in steps:
            yield steps[step], f"the pipe does not bind: {words}"


def _one_knob(search: Search) -> Iterator[Offer]:
    """One knob for itself; more in flight only where latency in proportion would hold."""
    late = bool(search.more_in_flight) or BACK * search.near < 1
    for step, settings in _steps(search).items():
        if not (late and step is Step.IN_FLIGHT):
            yield settings, _binding(search, str(step))


def _half_as_many(search: Search) -> Iterator[Offer]:
    """Between the best and what had more in flight and was no better."""
    above = search.more_in_flight
    between = _between(above, search.now, search.goal_s) if above else None
    if between:
        yield between, _binding(search, "between what was tried")


def _two_knobs(search: Search) -> Iterator[Offer]:
    """More in flight, then with compression: either alone may gain nothing.

    The processors bind without the one, the pipe without the other.
    """
    wide = _steps(search).get(Step.IN_FLIGHT)
    if wide is None:
        return
    if not search.more_in_flight:
        yield wide, _binding(search, Step.IN_FLIGHT)
    packed = replace(wide, compression="lz4")
    yield packed, _binding(search, "more in flight, and fewer bytes")


def _enough_in_flight(search: Search) -> Iterator[Offer]:
    """Fewer in flight, where the rate needs no more by Little's law."""
    best, now = search.best, search.now
    enough = math.ceil(SLACK * best.rate * best.round_trip_s / now.batch_bytes)
    if enough < now.in_flight:
        words = f"{enough} in flight would do"
        yield replace(now, in_flight=enough), _binding(search, words)


def _binding(search: Search, words: str) -> str:
    now, trip_ms = search.now, 1000 * search.best.round_trip_s
    return f"{now.in_flight} × {now.batch_bytes} bytes / {trip_ms:.1f} ms binds: {words}"


PIPE_FREE = (_fewer_requests,)
PIPE_BINDS = (_one_knob, _half_as_many, _two_knobs, _enough_in_flight)
"""The rules in order, where the pipe does not bind and where it does."""


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
    batch = rounded(now.batch_bytes * min(1.0, BACK * goal_s / least.p95_s))
    smaller = replace(least.settings, batch_bytes=batch)
    return smaller if smaller.pending_bytes > now.pending_bytes else None

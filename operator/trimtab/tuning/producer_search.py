"""The producer tuner: batch size, requests in flight and compression of a Kafka producer.

A producer sends batches of B bytes, f requests at a time, each of which takes a round trip R. By
Little's law at most f·B/R bytes/s pass (after Kafka's pipelining producer, docs/seeds.md, 001).
While the rate is near that, the pipe binds: larger batches first, since their round trip takes
about as long, then more requests in flight. Otherwise the processors bind, and the remaining steps
are compression and fewer, larger requests. At most twice what is in flight waits in memory, so
latency is 2·f·B over the rate: it grows if the rate does not keep up, most with requests in flight
(docs/benchmarks/producer.md), and the goal decides.

Bang-bang: back off from a probe that misses the goal, build on the fastest one that meets it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trimtab.tuning.producer import (
    MANY,
    MOST_BATCH,
    STEP,
    Probe,
    ProducerSettings,
    Step,
    more,
    rounded,
    together,
)
from trimtab.tuning.producer_choice import best_of, rivals

PIPE_FULL = 0.3
"""Share of f·B/R from which the requests in flight are the limit."""

SLACK = 1.2
"""Factor on the requests in flight that the rate needs, when fewer are tried."""

BACK = 0.9
"""Share of the goal to aim for after a miss."""

FEW = 3
"""Largest factor of one step of the requests in flight."""

PAIR = 2.0
"""Factor by which one step of the requests in flight may exceed what proportional latency allows:
two were seen to wait hardly longer than one."""

NEAR = 0.75
"""Share of the goal from which a choice is probed again: the p95 of a two-second probe was seen
half as large again when repeated."""

LOOKS = 3
"""Probes of a choice near the goal: as many as its spread needs to mean something."""

MAX_PROBES = 12


IDLE_WORDS = {Step.COMPRESSION: "fewer bytes", Step.BATCH: "fewer requests"}
"""If the pipe does not bind, more in flight gain nothing, and the order is reversed."""


@dataclass(frozen=True, slots=True)
class Next:
    """What to probe next, and why; without settings the search is over."""

    settings: ProducerSettings | None
    reason: str


def next_probe(probes: Sequence[Probe], goal_s: float) -> Next:
    """The next settings to try, from the probes so far (none: the start); pure.

    The rules run in order; the first that has something to try wins.
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
        """The settings to build on."""
        return self.best.settings

    @property
    def near(self) -> float:
        """The goal over the latency of the best."""
        return self.goal_s / max(self.best.p95_s, 1e-4)

    @property
    def full(self) -> bool:
        """Whether the pipe binds: the requests in flight are the limit."""
        return self.best.rate >= PIPE_FULL * self.best.pipe

    @property
    def more_in_flight(self) -> list[Probe]:
        """Probes that differ from the best only by more requests in flight."""
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
    """The final choice may be the best by luck, so near the goal, or another, it is probed again.

    The last probe is reserved for the former, unless there is a miss to back off from.
    """
    probes, best, goal_s = search.probes, search.best, search.goal_s
    seen = sum(p.settings == best.settings for p in probes)
    if seen >= LOOKS or len(probes) >= MAX_PROBES or best.p95_s > goal_s:
        return None
    if found.settings is None and seen == 1 and rivals(probes, search.now, goal_s):
        return Next(best.settings, f"once more, since others are near: {found.reason}")
    if best.p95_s <= NEAR * goal_s:
        return None
    if found.settings is None:
        return Next(best.settings, f"once more, {found.reason}")
    if len(probes) == MAX_PROBES - 1 and probes[-1].p95_s <= goal_s:
        return Next(best.settings, "once more, before it is chosen")
    return None


def _back_off(search: Search) -> Next | None:
    """If the last probe missed the goal: less of what was raised."""
    last = search.probes[-1]
    back = _back(last, search.best, search.goal_s) if last.p95_s > search.goal_s else None
    if back is None or any(back == probe.settings for probe in search.probes):
        return None
    what = "smaller batches" if back.in_flight == last.settings.in_flight else "fewer in flight"
    return Next(back, f"p95 {1000 * last.p95_s:.0f} ms is above the goal: {what}")


def _back(last: Probe, best: Probe, goal_s: float) -> ProducerSettings | None:
    """Settings between the best and the miss: less of what was raised; None if there are none."""
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
    """Largest factor of the batch size: a saturated pipe passes larger ones in the same time.

    If a larger one has missed the goal: only as far as proportional latency would meet it.
    """
    room = STEP if search.full else min(STEP, max(2.0, search.near))
    now, goal_s = search.now, search.goal_s
    if any(p.p95_s > goal_s and p.settings.batch_bytes > now.batch_bytes for p in search.probes):
        room = min(room, max(1.0, BACK * search.near))
    return room


def _steps(search: Search) -> dict[Step, ProducerSettings]:
    """Steps that could carry more than the best, one knob each."""
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
    """One knob alone; more in flight only if proportional latency would meet the goal."""
    late = bool(search.more_in_flight) or BACK * search.near < 1
    for step, settings in _steps(search).items():
        if not (late and step is Step.IN_FLIGHT):
            yield settings, _binding(search, str(step))


def _half_as_many(search: Search) -> Iterator[Offer]:
    """Between the best and a probe that had more in flight and was no better."""
    above = search.more_in_flight
    between = _between(above, search.now, search.goal_s) if above else None
    if between:
        yield between, _binding(search, "between what was tried")


def _two_knobs(search: Search) -> Iterator[Offer]:
    """More in flight, then also compression: either alone may gain nothing.

    Without compression the processors bind, without more in flight the pipe.
    """
    wide = _steps(search).get(Step.IN_FLIGHT)
    if wide is None:
        return
    if not search.more_in_flight:
        yield wide, _binding(search, Step.IN_FLIGHT)
    packed = replace(wide, compression="lz4")
    yield packed, _binding(search, "more in flight, and fewer bytes")


def _together(search: Search) -> Iterator[Offer]:
    """Large batches, several in flight and compression at once, as far as the goal allows.

    Where producer and broker take turns, each of them alone gains nothing.
    """
    room, now = BACK * search.goal_s * search.best.rate / 2, search.now
    for in_flight in range(MANY, 1, -1):
        wanted = together(now, rounded(min(MOST_BATCH, room / in_flight)), in_flight)
        if now.pending_bytes < wanted.pending_bytes <= 2 * room:
            yield wanted, "no knob alone helped: all three at once"
            return


def _enough_in_flight(search: Search) -> Iterator[Offer]:
    """Fewer in flight, if the rate needs no more by Little's law."""
    best, now = search.best, search.now
    enough = math.ceil(SLACK * best.rate * best.round_trip_s / now.batch_bytes)
    if enough < now.in_flight:
        words = f"{enough} in flight would do"
        yield replace(now, in_flight=enough), _binding(search, words)


def _binding(search: Search, words: str) -> str:
    now, trip_ms = search.now, 1000 * search.best.round_trip_s
    return f"{now.in_flight} × {now.batch_bytes} bytes / {trip_ms:.1f} ms binds: {words}"


PIPE_FREE = (_fewer_requests, _together)
PIPE_BINDS = (_one_knob, _half_as_many, _two_knobs, _enough_in_flight, _together)
"""The rules in order, for a pipe that does not bind and for one that does."""


def _more_in_flight(other: ProducerSettings, now: ProducerSettings) -> bool:
    """Whether the other differs only by more requests in flight."""
    return other.in_flight > now.in_flight and replace(other, in_flight=now.in_flight) == now


def _between(
    above: Sequence[Probe], now: ProducerSettings, goal_s: float
) -> ProducerSettings | None:
    """After more in flight missed the goal or gained nothing: half as many more, else smaller."""
    least = min(above, key=lambda p: p.settings.in_flight)
    half = (now.in_flight + least.settings.in_flight) // 2
    if half > now.in_flight:
        return replace(now, in_flight=half)
    batch = rounded(now.batch_bytes * min(1.0, BACK * goal_s / least.p95_s))
    smaller = replace(least.settings, batch_bytes=batch)
    return smaller if smaller.pending_bytes > now.pending_bytes else None

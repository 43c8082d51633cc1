"""What a JVM's collections say about its heap and collector: the tuning notes' targets.

The notes (docs/seeds.md) size the generations for a worker of their time: a new one that fills at
most every 10 s, an old one of twice what stays in it or 1.5 times the new one. The formulas still
hold for today's JVM.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.sizing.collector import Collector, best_collector
from trimtab.sizing.heap import (
    EDEN_SHARE,
    GIB,
    MIB,
    NEW_GEN_EVERY_S,
    NEW_GEN_GOAL_S,
    NEW_GEN_PAUSE_S,
    OLD_GEN_EVERY_S,
    OLD_GEN_PAUSE_S,
    Collections,
    heap_warning,
    new_gen_bytes,
    old_gen_bytes,
)
from trimtab.sizing.overhead import needed_bytes, pod_bytes, pod_of_heap, wanted_overhead

WATCHED_S = 600.0
"""Seconds over which collections are counted: the target allows one old-gen collection in them."""

ENOUGH_S = 0.9 * WATCHED_S
"""Total seconds of a role's JVMs below which nothing is judged."""

NEW_SHARE = 0.4
"""Largest share of a heap for the new generation if the old one is 1.5 times as large."""

DEFAULT_NEW_SHARE = 1 / 3
"""Its default share (NewRatio 2) in the serial and the parallel collector."""

NEW_GEN_TIME = NEW_GEN_PAUSE_S / NEW_GEN_EVERY_S
"""Share of the time that both targets of the new generation allow together. More frequent
collections that take no more of the time do not justify a larger heap."""

STEP = 2.0
"""Largest factor by which a heap grows at once if the allocated bytes are unknown."""

WORTH = 1.1
"""A heap must be larger by this factor to be worth a change."""

CALM = 0.8
"""Factor on the targets while advice stands, so that it does not flap at the limit."""

FEW = 3
"""Collections of the new generation below which the mean pause is meaningless."""

ALL_MET = "all targets are met"
"""How a reason starts if no target is missed."""

OFTEN_OLD = 1.5
"""Factor on the allowed old-gen collections above which they are not chance."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one role's JVMs, all of the same size. None is unknown."""

    new: Collections
    old: Collections
    heap_bytes: float
    """Maximum size of the heap."""
    slots: int
    """Tasks that run in the JVM at once."""
    collector: Collector
    live_bytes: float | None = None
    """Bytes left after the last collection of the old generation."""
    allocated_bytes_per_s: float | None = None
    new_bytes: float | None = None
    """The new generation, if its size was set."""
    heap_peak_bytes: float | None = None
    """The fullest heap, garbage included."""
    pod_used_bytes: float | None = None
    """The most memory that a pod used, including Python workers and everything else."""
    pod_bytes: float | None = None
    """The pod's limit; None is the default for the heap."""

    @property
    def new_gen(self) -> float:
        """Bytes of the new generation, by default its usual share."""
        return self.new_bytes or self.heap_bytes * DEFAULT_NEW_SHARE

    @property
    def allocation(self) -> float | None:
        """Bytes/s allocated: measured, or from how often the new generation was full.

        None if the collector varies its size; the serial one keeps it if the heap size is fixed.
        """
        if self.allocated_bytes_per_s is not None or self.collector is not Collector.SERIAL:
            return self.allocated_bytes_per_s
        return self.new.count * self.new_gen * EDEN_SHARE / self.new.over_s


@dataclass(frozen=True, slots=True)
class Advice:
    """What to change, and why; None leaves it unchanged. With no change it is only a message."""

    reason: str
    heap_bytes: int | None = None
    new_bytes: int | None = None
    """New generation; None leaves it to the collector."""
    collector: Collector | None = None
    overhead_bytes: int | None = None
    """Bytes that the pod needs outside the heap; None if it has enough."""


def missed(seen: Figures, factor: float = 1.0) -> tuple[str, ...]:
    """Messages about the missed targets; the factor makes the targets tighter."""
    words = []
    new, old = seen.new, seen.old
    if _new_often(seen, factor):
        words.append(
            f"the new generation is collected every {_seconds(new.every_s)} (target"
            f" {NEW_GEN_EVERY_S:g} s) and that takes {new.seconds / new.over_s:.1%} of the time"
        )
    if _new_long(seen, factor):
        words.append(
            f"a new-gen collection takes {1000 * new.pause_s:.0f} ms (at most"
            f" {1000 * NEW_GEN_PAUSE_S:.0f} ms, goal {1000 * NEW_GEN_GOAL_S:.0f} ms)"
        )
    if _old_often(seen, factor):
        words.append(
            f"the old generation is collected every {_seconds(old.every_s)} (target"
            f" {OLD_GEN_EVERY_S / 60:g} min)"
        )
    if _old_long(seen, factor):
        words.append(
            f"an old-gen collection takes {old.pause_s:.1f} s (at most {OLD_GEN_PAUSE_S:g} s)"
        )
    return tuple(words)


def _new_often(seen: Figures, factor: float) -> bool:
    new = seen.new
    share = new.seconds / new.over_s if new.over_s else 0.0
    return new.every_s < NEW_GEN_EVERY_S / factor and share > NEW_GEN_TIME * factor


def _new_long(seen: Figures, factor: float) -> bool:
    return seen.new.count >= FEW and seen.new.pause_s > NEW_GEN_PAUSE_S * factor


def _old_often(seen: Figures, factor: float) -> bool:
    return seen.old.every_s < OLD_GEN_EVERY_S / (OFTEN_OLD * factor)


def _old_long(seen: Figures, factor: float) -> bool:
    return seen.old.pause_s > OLD_GEN_PAUSE_S * factor


def advise(seen: Figures, *, standing: bool = False) -> Advice | None:
    """What would bring the collections to the targets; None if they are met or not known yet.

    `standing` says that advice was already given: then the targets are slightly tighter.
    """
    if seen.new.over_s < ENOUGH_S:
        return None
    factor = CALM if standing else 1.0
    overhead, short = _overhead(seen)
    words = list(missed(seen, factor))
    if not words:
        return Advice(short, overhead_bytes=overhead) if overhead else _lower(seen)
    heap, new = _heap(seen, factor)
    if heap is not None:
        words.append(_formula(heap, new))
    collector = None
    if _new_long(seen, factor) or _old_long(seen, factor):
        best = best_collector(seen.slots, pod_bytes(heap or seen.heap_bytes))
        if best is not seen.collector:
            collector = best
            words.append(f"{best} instead of {seen.collector} shortens the pauses")
    if heap is None and collector is None:
        words.append(
            "neither a larger heap nor another collector helps: smaller batches or more executors"
            " keep fewer objects alive at once"
        )
    if warning := heap_warning(heap or seen.heap_bytes):
        words.append(warning)
    if overhead:
        words.append(short)
    fixed = new if heap is not None and (collector or seen.collector) is not Collector.G1 else None
    return Advice("; ".join(words), heap, fixed, collector, overhead)


def _overhead(seen: Figures) -> tuple[int | None, str]:
    """Bytes needed outside the heap, and why; None if there are enough or it is unknown."""
    if seen.pod_used_bytes is None or seen.heap_peak_bytes is None:
        return None, ""
    pod = seen.pod_bytes or pod_of_heap(seen.heap_bytes)
    needed = needed_bytes(seen.pod_used_bytes, seen.heap_bytes, seen.heap_peak_bytes)
    wanted = wanted_overhead(needed, seen.heap_bytes, pod)
    if wanted is None:
        return None, ""
    return wanted, (
        f"a pod held {seen.pod_used_bytes / MIB:.0f} MiB when the fullest heap was at"
        f" {seen.heap_peak_bytes / MIB:.0f} of {seen.heap_bytes / MIB:.0f} MiB, so it may come to"
        f" {needed / MIB:.0f} of {pod / MIB:.0f} MiB: Python workers and all else need"
        f" {wanted / MIB:.0f} MiB outside the heap"
    )


def _heap(seen: Figures, factor: float) -> tuple[int | None, int]:
    """The heap by the notes' formulas (None if not larger), and its new generation."""
    often, old_often = _new_often(seen, factor), _old_often(seen, factor)
    new = seen.new_gen
    if often and seen.allocation is not None:
        new = max(new, new_gen_bytes(seen.allocation))
    elif often:
        new *= min(STEP, NEW_GEN_EVERY_S / seen.new.every_s)
    held = seen.live_bytes or 0.0
    if old_often and seen.live_bytes is None:
        held = seen.heap_bytes - seen.new_gen  # all we know is that it was full
    wanted = round(new) + old_gen_bytes(held, new)
    if not (often or old_often) or wanted < WORTH * seen.heap_bytes:
        return None, 0
    return wanted, round(new)


def _formula(heap: int, new: int) -> str:
    old = heap - new
    why = "1.5 times the new one" if old <= 1.51 * new else "twice what stays in it"
    return (
        f"a new generation of {new / MIB:.0f} MiB for {NEW_GEN_EVERY_S:g} s of allocation"
        f" and an old one of {why}, {old / MIB:.0f} MiB, make a heap of {heap / MIB:.0f} MiB"
    )


def _lower(seen: Figures) -> Advice | None:
    """Only a message: less than half of the heap is enough, if both parts are known."""
    if seen.live_bytes is None or seen.allocation is None or seen.heap_bytes < 2 * GIB:
        return None
    new = new_gen_bytes(seen.allocation)
    enough = new + old_gen_bytes(seen.live_bytes, new)
    if enough > seen.heap_bytes / 2:
        return None
    words = (
        f"{ALL_MET}, and a heap of {enough / MIB:.0f} MiB would do instead of"
        f" {seen.heap_bytes / MIB:.0f} MiB: resources may be lowered"
    )
    if warning := heap_warning(seen.heap_bytes):
        words += f"; {warning}"
    return Advice(words)


def _seconds(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.2g} s"

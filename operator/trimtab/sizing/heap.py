"""Heap: what is pending must be small beside it, and the collector has targets."""

from __future__ import annotations

from dataclasses import dataclass

GIB = 1 << 30
MIB = 1 << 20

OVERHEAD_MIN_BYTES, OVERHEAD_SHARE = 384 * MIB, 0.2
"""Beside the heap a pod holds the Python workers, the network buffers and the JVM itself: so much
at least, or this share of the pod."""

NEW_GEN_EVERY_S, NEW_GEN_PAUSE_S, NEW_GEN_GOAL_S = 10.0, 0.050, 0.010
"""New-gen collections at most every 10 s and for at most 50 ms; 10 ms are the goal."""

OLD_GEN_EVERY_S, OLD_GEN_PAUSE_S = 600.0, 1.0
"""Old-gen collections at most every 10 min and for at most 1 s."""

TROUBLE_BYTES, TROUBLE_EVERYWHERE_BYTES = 12 * GIB, 32 * GIB
"""Heaps above which the notes warn."""

PENDING_SHARE = 0.25
"""Share of the heap above which what is pending is no longer far below it."""


def overhead_bytes(pod_bytes: int) -> int:
    """What a driver's or executor's pod of that size leaves beside the heap."""
    return max(OVERHEAD_MIN_BYTES, int(pod_bytes * OVERHEAD_SHARE))


def pending_batches(ratio: float, slots: int) -> int:
    """Batches' worth of slots that may be pending: comfortably above one for each slot."""
    return round(ratio * slots)


def pending_bytes(batch_kb: float, pending: int) -> int:
    """Bytes of all that may be pending at once."""
    return round(batch_kb * 1024 * pending)


def old_gen_bytes(occupied_bytes: float, new_gen_bytes: float) -> int:
    """Old generation: the larger of twice what it holds and 1.5 times the new generation."""
    return round(max(2 * occupied_bytes, 1.5 * new_gen_bytes))


def new_gen_bytes(allocated_bytes_per_s: float, every_s: float = NEW_GEN_EVERY_S) -> int:
    """New generation that fills no more often than every so many seconds."""
    return round(allocated_bytes_per_s * every_s)


def heap_warning(heap_bytes: float) -> str:
    """What the notes say of a heap of that size; empty where they say nothing."""
    size = f"a heap of {heap_bytes / GIB:.0f} GiB"
    if heap_bytes > TROUBLE_EVERYWHERE_BYTES:
        return f"{size} is trouble everywhere (above 32 GiB): collections take too long"
    if heap_bytes > TROUBLE_BYTES:
        return f"{size} is trouble on many clouds (above 12 GiB): collections take long"
    return ""


@dataclass(frozen=True, slots=True)
class Collections:
    """Garbage collections of one generation over a time."""

    count: float
    seconds: float
    over_s: float

    @property
    def pause_s(self) -> float:
        """Seconds of one collection, in the mean; 0 without one."""
        return self.seconds / self.count if self.count else 0.0

    @property
    def every_s(self) -> float:
        """Seconds from one to the next; infinite with none."""
        return self.over_s / self.count if self.count else float("inf")

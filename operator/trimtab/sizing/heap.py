"""Heap: pending records must be small in comparison, and the collector has targets."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.api.memory import OVERHEAD_MIN_BYTES, OVERHEAD_SHARE

GIB = 1 << 30
MIB = 1 << 20

NEW_GEN_EVERY_S, NEW_GEN_PAUSE_S, NEW_GEN_GOAL_S = 10.0, 0.050, 0.010
"""New-gen collections at most every 10 s and for at most 50 ms; the goal is 10 ms."""

OLD_GEN_EVERY_S, OLD_GEN_PAUSE_S = 600.0, 1.0
"""Old-gen collections at most every 10 min and for at most 1 s."""

EDEN_SHARE = 0.8
"""Share of the new generation that new objects fill: two survivor spaces of an eighth of it each
(SurvivorRatio 8, the default; the notes' 800 MB of 1000 MB)."""

TROUBLE_BYTES, TROUBLE_EVERYWHERE_BYTES = 12 * GIB, 32 * GIB
"""Heaps above which the notes warn."""

PENDING_SHARE = 0.25
"""Share of the heap above which pending records are no longer far below it."""


def overhead_bytes(pod_bytes: int) -> int:
    """Bytes outside the heap in a driver or executor pod of that size."""
    return max(OVERHEAD_MIN_BYTES, int(pod_bytes * OVERHEAD_SHARE))


def pending_batches(ratio: float, slots: int) -> int:
    """Slot batches that may be pending: comfortably above one per slot."""
    return round(ratio * slots)


def pending_bytes(batch_kb: float, pending: int) -> int:
    """Bytes of everything that may be pending at once."""
    return round(batch_kb * 1024 * pending)


def old_gen_bytes(occupied_bytes: float, new_gen_bytes: float) -> int:
    """Old generation: the larger of twice what it holds and 1.5 times the new generation."""
    return round(max(2 * occupied_bytes, 1.5 * new_gen_bytes))


def new_gen_bytes(allocated_bytes_per_s: float, every_s: float = NEW_GEN_EVERY_S) -> int:
    """Bytes of a new generation whose Eden fills at most every `every_s` seconds."""
    return round(allocated_bytes_per_s * every_s / EDEN_SHARE)


def heap_warning(heap_bytes: float) -> str:
    """What the notes say about a heap of that size; empty if they say nothing."""
    size = f"a heap of {heap_bytes / GIB:.0f} GiB"
    if heap_bytes > TROUBLE_EVERYWHERE_BYTES:
        return f"{size} is trouble everywhere (above 32 GiB): collections take too long"
    if heap_bytes > TROUBLE_BYTES:
        return f"{size} is trouble on many clouds (above 12 GiB): collections take long"
    return ""


@dataclass(frozen=True, slots=True)
class Collections:
    """Garbage collections of one generation over a period."""

    count: float
    seconds: float
    over_s: float

    @property
    def pause_s(self) -> float:
        """Mean seconds per collection; 0 without one."""
        return self.seconds / self.count if self.count else 0.0

    @property
    def every_s(self) -> float:
        """Seconds between collections; infinite without one."""
        return self.over_s / self.count if self.count else float("inf")

"""What an executor's pod needs beside its heap: Python workers, network buffers, the JVM itself.

The kernel ends a pod that comes above its limit, and Spark then runs its tasks again. The heap of
the moment says little, as the JVM fills it to its limit before it gives anything back; what is
beside it does not shrink. So the pod may come to need what it held at most, and the rest of its
heap.
"""

from __future__ import annotations

import math

from trimtab.sizing.heap import MIB, OVERHEAD_MIN_BYTES, OVERHEAD_SHARE

TIGHT = 0.95
"""Share of its memory that a pod may come to need."""

STEP_BYTES = 32 * MIB

POD_STEP_BYTES = 64 * MIB


def pod_of_heap(heap_bytes: float) -> float:
    """The pod that has such a heap where nothing is said of the overhead."""
    return max(heap_bytes + OVERHEAD_MIN_BYTES, heap_bytes / (1 - OVERHEAD_SHARE))


def pod_bytes(heap_bytes: float) -> int:
    """The same in whole steps of 64 MiB."""
    return math.ceil(pod_of_heap(heap_bytes) / POD_STEP_BYTES) * POD_STEP_BYTES


def needed_bytes(used_bytes: float, heap_bytes: float, heap_peak_bytes: float) -> float:
    """The most that a pod may come to need, of what it was seen to hold at most."""
    return used_bytes + max(0.0, heap_bytes - heap_peak_bytes)


def wanted_overhead(needed: float, heap_bytes: float, pod_bytes: float) -> int | None:
    """Bytes beside the heap that leave the pod some room; None where it has room enough."""
    if needed <= TIGHT * pod_bytes:
        return None
    return math.ceil((needed / TIGHT - heap_bytes) / STEP_BYTES) * STEP_BYTES

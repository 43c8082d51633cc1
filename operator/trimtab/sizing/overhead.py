"""What an executor's pod needs outside its heap: Python workers, network buffers, the JVM itself.

The kernel kills a pod that exceeds its limit, and Spark then reruns its tasks. The current heap
says little, because the JVM fills it to its limit before it returns memory; the memory outside it
does not shrink. So the pod may come to need its peak use plus the rest of its heap.
"""

from __future__ import annotations

import math

from trimtab.api.memory import OVERHEAD_MIN_BYTES, OVERHEAD_SHARE
from trimtab.sizing.heap import MIB

TIGHT = 0.95
"""Share of its memory that a pod may need at most."""

STEP_BYTES = 32 * MIB

POD_STEP_BYTES = 64 * MIB


def pod_of_heap(heap_bytes: float) -> float:
    """Bytes of the pod with such a heap and the default overhead."""
    return max(heap_bytes + OVERHEAD_MIN_BYTES, heap_bytes / (1 - OVERHEAD_SHARE))


def pod_bytes(heap_bytes: float) -> int:
    """The same, rounded up to steps of 64 MiB."""
    return math.ceil(pod_of_heap(heap_bytes) / POD_STEP_BYTES) * POD_STEP_BYTES


def needed_bytes(used_bytes: float, heap_bytes: float, heap_peak_bytes: float) -> float:
    """The most that a pod may come to need, given its peak use so far."""
    return used_bytes + max(0.0, heap_bytes - heap_peak_bytes)


def wanted_overhead(needed: float, heap_bytes: float, pod_bytes: float) -> int | None:
    """Bytes outside the heap that leave the pod some room; None if it has enough."""
    if needed <= TIGHT * pod_bytes:
        return None
    return math.ceil((needed / TIGHT - heap_bytes) / STEP_BYTES) * STEP_BYTES

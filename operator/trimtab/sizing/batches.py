"""The size of a batch, and what must be fetched to fill it."""

from __future__ import annotations

import math


def slots(executors: int, cores: int) -> int:
    """Task slots; the notes' spout_parallelism = workers × spouts per worker."""
    return executors * cores


def batch_records(target_s: float, record_s: float, slots: int) -> int:
    """Records that the slots process within the target time of a batch."""
    return round(target_s / record_s * slots)


def batch_kb(records: int, record_bytes: float) -> float:
    """Kilobytes (1024 bytes) of a batch."""
    return records * record_bytes / 1024


def fetch_bytes(kilobytes: float, partitions: int) -> int:
    """Bytes that must be fetched per partition to fill a batch."""
    return math.ceil(kilobytes * 1024 / partitions)


def power_of_two_above(size: int) -> int:
    """The smallest larger power of two: buffers hold more than a batch of one stage."""
    return 1 << max(1, size).bit_length()


def aligned_partitions(partitions: int, slots: int) -> int:
    """The fewest partitions, at least the current ones, that divide evenly over the slots."""
    return math.ceil(max(1, partitions) / slots) * slots


def longest_serial_s(worker_s: float, workers: int) -> float:
    """Seconds below which a step must stay that handles all workers' results one by one.

    It handles the output of all workers, so it must be faster than one of them by their number, or
    it chokes the flow.
    """
    return worker_s / workers

"""The size of a batch, and what must be fetched to fill it."""

from __future__ import annotations

import math
from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class Fill:
    """What fits into one fetch from each partition: least and most."""

    records: tuple[int, int]
    """Per partition."""
    batch_records: tuple[int, int]
    batch_bytes: tuple[int, int]


def fill(partitions: int, fetch_bytes: int, record_bytes: tuple[int, int]) -> Fill:
    """How full a fetch gets with whole records of sizes in a range (least, most), in bytes.

    The fill is lowest for the size at which one more record just does not fit.

    Raises:
        ValueError: the range is empty, or a record does not fit.
    """
    small, large = record_bytes
    if not 0 < small <= large <= fetch_bytes:
        raise ValueError(
            f"records of {small} to {large} bytes do not fit a fetch of {fetch_bytes} bytes"
        )
    fewest, most = fetch_bytes // large, fetch_bytes // small
    # the smallest size at which only k records fit leaves the most room unused
    sizes = {large, small, *(fetch_bytes // (k + 1) + 1 for k in range(fewest, most))}
    filled = [fetch_bytes // s * s for s in sizes if small <= s <= large]
    fullest = max(k * min(large, fetch_bytes // k) for k in range(fewest, most + 1))
    return Fill(
        (fewest, most),
        (partitions * fewest, partitions * most),
        (partitions * min(filled), partitions * fullest),
    )


def aligned_partitions(partitions: int, slots: int) -> int:
    """The fewest partitions, at least the current ones, that divide evenly over the slots."""
    return math.ceil(max(1, partitions) / slots) * slots


def longest_serial_s(worker_s: float, workers: int) -> float:
    """Seconds below which a step must stay that handles all workers' results one by one.

    It handles the output of all workers, so it must be faster than one of them by their number, or
    it chokes the flow.
    """
    return worker_s / workers

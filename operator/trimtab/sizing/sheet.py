"""The derivation of every size from a few figures, line by line, for users to follow."""

from __future__ import annotations

import math
from dataclasses import dataclass

from trimtab.api.quantities import format_rate
from trimtab.sizing import batches, heap, littles_law


@dataclass(frozen=True, slots=True)
class Figures:
    """Measured or given figures. None is unknown; whatever depends on it is omitted."""

    record_s: float
    """Slot-seconds that a record takes."""
    target_s: float
    """Target seconds per batch."""
    executors: int
    cores: int
    """Task slots per executor."""
    partitions: int
    record_bytes: float
    pending_ratio: float = 2.0
    rate: float | None = None
    """Records/s to carry."""
    higher: float = 0.8
    """Highest load of the slots."""
    call_s: float | None = None
    """Seconds per call to a remote service, one call per record."""
    heap_bytes: float | None = None
    occupied_bytes: float | None = None
    """Bytes that stay in the old generation at a constant load."""
    allocated_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One size: its name, its value with the unit, and its derivation."""

    name: str
    value: str
    derivation: str


def sheet(given: Figures) -> list[Line]:
    """Every size that follows from the figures, in order of derivation.

    Raises:
        ValueError: a figure that must be above 0 is not.
    """
    _check(given)
    return [*_slots(given), *_batch(given), *_pending(given), *_memory(given)]


def _check(given: Figures) -> None:
    for name in ("record_s", "target_s", "executors", "cores", "partitions", "record_bytes"):
        if getattr(given, name) <= 0:
            raise ValueError(f"{name} must be above 0, it is {getattr(given, name):g}")


def _slots(given: Figures) -> list[Line]:
    slots = batches.slots(given.executors, given.cores)
    carries = littles_law.throughput(slots, given.record_s)
    lines = [
        Line("slots", f"{slots}", f"{given.executors} executors × {given.cores} cores"),
        Line("capacity", f"{format_rate(carries)} records/s",
             f"{slots} slots / {given.record_s * 1000:g} ms per record (Little's law)"),
    ]  # fmt: skip
    if given.rate:
        needed = littles_law.in_flight(given.rate, given.record_s) / given.higher
        executors = math.ceil(round(needed / given.cores, 9))
        lines.append(Line(
            "executors", f"{executors}",
            f"{given.rate:g} records/s × {given.record_s * 1000:g} ms / load {given.higher:g}"
            f" / {given.cores} cores = {needed / given.cores:.2f}",
        ))  # fmt: skip
    aligned = batches.aligned_partitions(given.partitions, slots)
    even = "divide evenly" if aligned == given.partitions else "is the next multiple"
    words = f"{given.partitions} partitions on {slots} slots: {aligned} {even}"
    return [*lines, Line("partitions", f"{aligned}", words)]


def _batch(given: Figures) -> list[Line]:
    slots = batches.slots(given.executors, given.cores)
    records = batches.batch_records(given.target_s, given.record_s, slots)
    kilobytes = batches.batch_kb(records, given.record_bytes)
    fetched = batches.fetch_bytes(kilobytes, given.partitions)
    each = math.ceil(records / slots)
    return [
        Line("maxOffsetsPerTrigger", f"{records}",
             f"{given.target_s * 1000:g} ms / {given.record_s * 1000:g} ms × {slots} slots"),
        Line("batch", f"{kilobytes:.0f} kB",
             f"{records} records × {given.record_bytes:g} bytes / 1024"),
        Line("fetch.maxPartitionBytes", f"{fetched}",
             f"{kilobytes:.0f} kB × 1024 / {given.partitions} partitions"),
        Line("fetch.maxBytes", f"{fetched * given.partitions}",
             f"{fetched} bytes × {given.partitions} partitions"),
        Line("buffers", f"{batches.power_of_two_above(each)} records",
             f"the power of two above the {each} records per slot and batch"),
        Line("serial step", f"{batches.longest_serial_s(given.target_s, slots) * 1000:.0f} ms",
             f"{given.target_s * 1000:g} ms / {slots} slots: the most that one step may take for"
             " each slot's results if it handles them in turn"),
        Line("slowest task", f"p{littles_law.quantile_at_median(slots) * 100:.1f}",
             f"of a task is the median of a batch, which waits for all {slots} tasks:"
             f" 0.5^(1/{slots})"),
    ]  # fmt: skip


def _pending(given: Figures) -> list[Line]:
    slots = batches.slots(given.executors, given.cores)
    pending = heap.pending_batches(given.pending_ratio, slots)
    records = batches.batch_records(given.target_s, given.record_s, slots)
    size = heap.pending_bytes(batches.batch_kb(records, given.record_bytes), pending)
    lines = [
        Line("pending", f"{pending} slots' worth",
             f"pending ratio {given.pending_ratio:g} × {slots} slots"),
        Line("pending bytes", f"{size / 2**20:.0f} MiB",
             "that many batches of this size, all in memory at once"),
    ]  # fmt: skip
    if given.heap_bytes:
        share = size / (given.heap_bytes * given.executors)
        words = "far below it" if share <= heap.PENDING_SHARE else "too much: make batches smaller"
        words = f"of {given.executors} × {given.heap_bytes / 2**20:.0f} MiB: {words}"
        lines.append(Line("pending / heap", f"{share:.0%}", words))
    if given.call_s and given.rate:
        calls = littles_law.calls_per_task(given.rate / given.higher, given.call_s, slots)
        lines.append(Line(
            "maxInFlight", f"{calls}",
            f"{given.rate:g} records/s / load {given.higher:g} × {given.call_s * 1000:g} ms per"
            f" call / {slots} slots (Little's law)",
        ))  # fmt: skip
    return lines


def _memory(given: Figures) -> list[Line]:
    lines: list[Line] = []
    if given.allocated_bytes_per_s:
        new = heap.new_gen_bytes(given.allocated_bytes_per_s)
        old = heap.old_gen_bytes(given.occupied_bytes or 0.0, new)
        lines += [
            Line("new generation", f"{new / 2**20:.0f} MiB",
                 f"{given.allocated_bytes_per_s / 2**20:.1f} MiB/s × {heap.NEW_GEN_EVERY_S:g} s"
                 f" / {heap.EDEN_SHARE:g} for Eden"),
            Line("old generation", f"{old / 2**20:.0f} MiB",
                 "the larger of 2 × what it holds and 1.5 × the new generation"),
            Line("heap", f"{(new + old) / 2**20:.0f} MiB", "both"),
        ]  # fmt: skip
    if given.heap_bytes and (warning := heap.heap_warning(given.heap_bytes)):
        lines.append(Line("warning", "", warning))
    return lines

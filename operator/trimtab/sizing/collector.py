"""The collectors of JDK 17: the default, the best choice, and the options to set it."""

from __future__ import annotations

from enum import StrEnum

from trimtab.sizing.heap import MIB

SERVER_BYTES = 1792 * MIB
"""Below this memory, or with one processor, JDK 17 uses the serial collector, else G1."""


class Collector(StrEnum):
    """The collectors of JDK 17 that suit a small heap of short-lived records."""

    SERIAL = "Serial"
    PARALLEL = "Parallel"
    G1 = "G1"


def usual_collector(memory_bytes: float) -> Collector:
    """JDK 17's default in a container of that memory that sees two or more processors.

    A container with a CPU request but no CPU limit sees those of its node.
    """
    return Collector.SERIAL if memory_bytes < SERVER_BYTES else Collector.G1


def best_collector(slots: int, memory_bytes: float) -> Collector:
    """The collector for short pauses: one thread for one slot of a small heap, else several.

    From the JVM's own limit, G1 collects the old generation concurrently; below it, its regions and
    marking threads cost more than they save, and the parallel collector shortens the pauses.
    """
    if memory_bytes >= SERVER_BYTES:
        return Collector.G1
    return Collector.SERIAL if slots == 1 else Collector.PARALLEL


def java_options(collector: Collector | None, new_bytes: int | None) -> str:
    """The JVM options for both; empty if both are left to the JVM."""
    options = [f"-XX:+Use{collector}GC"] if collector else []
    if new_bytes:
        options += [f"-XX:{size}={new_bytes // MIB}m" for size in ("NewSize", "MaxNewSize")]
    return " ".join(options)

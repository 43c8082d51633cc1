"""Garbage collections and heaps of driver and executors, read every five seconds.

Counts and times are Spark's own executor metrics, which arrive with the heartbeats. Spark keeps the
highest value of each, which for a counter is the latest. It tells new and old generation by the
collectors' names, so Serial, Parallel and G1 look alike. With G1 an old-generation collection is
a full one; mixed ones count as new.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark import SparkContext

from trimtab.job import gateway
from trimtab.job.clock import Clock, monotonic_s
from trimtab.job.gateway import JavaObject, items
from trimtab.job.telemetry.driver_state import NEW, OLD, DriverState, JvmTotals

log = logging.getLogger(__name__)

INTERVAL_S = 5.0
"""As often as the executors' heartbeats bring news."""

WARM_UP_S = 30.0
"""Ignored at the start of each JVM: while classes are loaded, the growing metaspace alone triggers
old-generation collections, whatever the heap."""

DRIVER, EXECUTOR = "driver", "executor"

_COUNTS = {NEW: ("MinorGCCount", "MinorGCTime"), OLD: ("MajorGCCount", "MajorGCTime")}
_COLLECTORS = {
    "Copy": "Serial", "PS Scavenge": "Parallel", "G1 Young Generation": "G1",
}  # fmt: skip
"""The collector, by the name of its bean for the new generation."""
_COLLECTOR = re.compile(r"-XX:\+Use(Serial|Parallel|G1)GC")
_NEW_MIB = re.compile(r"-XX:MaxNewSize=(\d+)m")
_OLD_POOLS = ("Tenured Gen", "PS Old Gen", "G1 Old Gen")


@dataclass(frozen=True, slots=True)
class Reading:
    """One JVM's counters since its start: (collections, seconds) by generation; peak in bytes."""

    collections: Mapping[str, tuple[int, float]]
    heap_peak: int


@dataclass(frozen=True, slots=True)
class OwnHeap:
    """What only the JVM itself knows: here the driver's. None means unknown."""

    collector: str | None
    live_bytes: int | None
    """Old generation in use after its last collection."""
    eden_bytes: int | None


class Jvms(Protocol):
    """Where readings of the JVMs come from: Spark."""

    def read(self) -> Mapping[str, Reading]:
        """The reading of every JVM that has reported metrics, by executor id."""

    def own(self) -> OwnHeap:
        """The driver's own heap."""

    def heap_limit(self, role: str) -> int:
        """Maximum heap of a role, in bytes."""

    def options(self, role: str) -> str:
        """The JVM options of a role."""


class JvmWatch:
    """Adds up the readings of the JVMs for the exporter."""

    def __init__(self, driver: DriverState, jvms: Jvms, clock: Clock = monotonic_s) -> None:
        """`clock` is monotonic."""
        self._driver, self._jvms, self._clock = driver, jvms, clock
        self._since: dict[str, float] = {}
        self._last: dict[str, tuple[float, Reading]] = {}
        self._totals: dict[str, JvmTotals] = defaultdict(JvmTotals)

    def look(self) -> None:
        """Read all JVMs once."""
        now, found, own = self._clock(), self._jvms.read(), self._jvms.own()
        with self._driver.writing() as driver:
            self._add(now, found, own)
            driver.jvms = self._totals

    def _add(self, now: float, found: Mapping[str, Reading], own: OwnHeap) -> None:
        peaks: dict[str, int] = defaultdict(int)
        for name, reading in found.items():
            role = DRIVER if name == DRIVER else EXECUTOR
            peaks[role] = max(peaks[role], reading.heap_peak)
            if now - self._since.setdefault(name, now) >= WARM_UP_S:
                self._count(name, role, now, reading, own)
        self._since = {name: at for name, at in self._since.items() if name in found}
        self._last = {name: last for name, last in self._last.items() if name in found}
        for role, totals in self._totals.items():
            options = self._jvms.options(role)
            totals.heap_limit, totals.heap_peak = self._jvms.heap_limit(role), peaks[role]
            totals.collector = said[1] if (said := _COLLECTOR.search(options)) else None
            totals.new_bytes = int(said[1]) << 20 if (said := _NEW_MIB.search(options)) else None
        if DRIVER in self._totals:
            driver = self._totals[DRIVER]
            driver.live_bytes, driver.collector = own.live_bytes, own.collector

    def _count(self, name: str, role: str, now: float, reading: Reading, own: OwnHeap) -> None:
        """Add what a JVM did since its last reading; the first reading is only a start."""
        totals = self._totals[role]
        if name in self._last:
            then, before = self._last[name]
            totals.seconds += now - then
            for generation, (count, seconds) in reading.collections.items():
                counted, collected_s = before.collections[generation]
                totals.count[generation] += count - counted
                totals.collecting_s[generation] += seconds - collected_s
            if role == DRIVER and own.eden_bytes is not None:
                filled = reading.collections[NEW][0] - before.collections[NEW][0]
                totals.allocated_bytes = (totals.allocated_bytes or 0) + filled * own.eden_bytes
        self._last[name] = (now, reading)

    def start(self, stopping: threading.Event) -> threading.Thread:
        """Read until `stopping` is set."""

        def run() -> None:
            while not stopping.wait(INTERVAL_S):
                try:
                    self.look()
                except Exception as error:  # py4j may raise anything while Spark shuts down
                    log.debug("JVMs not read: %s", error)

        thread = threading.Thread(target=run, name="trimtab-jvm", daemon=True)
        thread.start()
        return thread


class SparkJvms:
    """Reads the JVMs of one Spark application through py4j."""

    def __init__(self, context: SparkContext, executor_heap: int) -> None:
        """`executor_heap` in bytes."""
        self._store = gateway.scala_context(context).statusStore()
        java = gateway.classes(context).java
        self._find(java.lang.management.ManagementFactory)
        own = int(java.lang.Runtime.getRuntime().maxMemory())
        self._limits = {DRIVER: own, EXECUTOR: executor_heap}
        conf = context.getConf()
        self._options = {
            role: conf.get(f"spark.{role}.extraJavaOptions", "") for role in (DRIVER, EXECUTOR)
        }

    def _find(self, beans: JavaObject) -> None:
        """Find the driver's collector and memory pools, which do not change."""
        names = [bean.getName() for bean in beans.getGarbageCollectorMXBeans()]
        self._collector = next((_COLLECTORS[name] for name in names if name in _COLLECTORS), None)
        pools = {pool.getName(): pool for pool in beans.getMemoryPoolMXBeans()}
        self._old = next((pools[name] for name in _OLD_POOLS if name in pools), None)
        self._eden = next((pools[name] for name in pools if name.endswith("Eden Space")), None)

    def heap_limit(self, role: str) -> int:
        """Maximum heap of a role, in bytes."""
        return self._limits[role]

    def options(self, role: str) -> str:
        """The JVM options of a role, set by trimtab or the user."""
        return str(self._options[role])

    def read(self) -> Mapping[str, Reading]:
        """The reading of every JVM that has reported metrics, the driver included."""
        found = {}
        for summary in items(self._store.executorList(True)):
            if (told := summary.peakMemoryMetrics()).isDefined():
                found[summary.id()] = _reading(told.get().getMetricValue)
        return found

    def own(self) -> OwnHeap:
        """The driver's own heap; reads only two pools, because each call crosses to the JVM."""
        live = eden = None
        if self._old is not None:
            # 0 before the first old-generation collection: then the live size is unknown
            live = int(self._old.getCollectionUsage().getUsed()) or None
        if self._eden is not None:
            eden = int(self._eden.getUsage().getCommitted())
        return OwnHeap(self._collector, live, eden)


def _reading(value: Callable[[str], int]) -> Reading:
    counted = {
        generation: (value(count), value(milliseconds) / 1000)
        for generation, (count, milliseconds) in _COUNTS.items()
    }
    return Reading(counted, value("JVMHeapMemory"))

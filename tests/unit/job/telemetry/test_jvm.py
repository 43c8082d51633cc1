"""What the looks at the JVMs add up to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.job.telemetry.test_metrics import exported

from trimtab.job.telemetry.driver_state import DriverState, JvmTotals
from trimtab.job.telemetry.jvm import WARM_UP_S, JvmWatch, OwnHeap, Reading, SparkJvms

OPTIONS = {"driver": "", "executor": "-Da=b -XX:+UseParallelGC -XX:NewSize=9m -XX:MaxNewSize=8m"}
HEAPS = {"driver": 700, "executor": 500}


class Jvms:
    """What each look finds."""

    def __init__(self) -> None:
        self.found: dict[str, Reading] = {}
        self.heap = OwnHeap("Serial", None, 100)

    def read(self) -> Mapping[str, Reading]:
        return dict(self.found)

    def own(self) -> OwnHeap:
        return self.heap

    def heap_limit(self, role: str) -> int:
        return HEAPS[role]

    def options(self, role: str) -> str:
        return OPTIONS[role]

    def tell(self, name: str, new: int, old: int = 0, peak: int = 300) -> None:
        self.found[name] = Reading({"new": (new, new / 50), "old": (old, old / 2)}, peak)


class Watched:
    """A watch whose clock the test moves."""

    def __init__(self) -> None:
        self.jvms, self.driver, self.now = Jvms(), DriverState(), 0.0
        self.watch = JvmWatch(self.driver, self.jvms, lambda: self.now)

    def look(self, after_s: float) -> Mapping[str, JvmTotals]:
        self.now += after_s
        self.watch.look()
        return self.driver.jvms


def test_the_warm_up_of_each_jvm_is_left_out() -> None:
    seen = Watched()
    seen.jvms.tell("1", 10, 4)
    assert seen.look(0) == {}
    seen.jvms.tell("1", 20, 5)
    assert seen.look(WARM_UP_S)["executor"].count == {"new": 0, "old": 0}
    seen.jvms.tell("1", 23, 6)
    seen.jvms.tell("2", 99, 9)
    totals = seen.look(5)["executor"]
    assert (totals.count, totals.seconds) == ({"new": 3, "old": 1}, 5.0)
    assert totals.collecting_s == pytest.approx({"new": 0.06, "old": 0.5})


def test_the_time_is_that_of_all_jvms_and_one_that_goes_takes_nothing_back() -> None:
    seen = Watched()
    for name in ("1", "2"):
        seen.jvms.tell(name, 0)
    seen.look(0)
    seen.look(WARM_UP_S)
    for name in ("1", "2"):
        seen.jvms.tell(name, 4)
    totals = seen.look(10)["executor"]
    assert (totals.count["new"], totals.seconds) == (8, 20.0)
    del seen.jvms.found["2"]
    seen.jvms.tell("1", 5)
    totals = seen.look(10)["executor"]
    assert (totals.count["new"], totals.seconds) == (9, 30.0)
    seen.jvms.tell("2", 50)  # Spark gives no number twice; one that is away for a look begins anew
    assert seen.look(10)["executor"].count["new"] == 9
    seen.look(WARM_UP_S)
    seen.jvms.tell("2", 53)
    assert seen.look(10)["executor"].count["new"] == 12


def test_the_driver_tells_more_than_the_executors() -> None:
    seen = Watched()
    for name in ("driver", "1"):
        seen.jvms.tell(name, 2)
    seen.look(0)
    seen.look(WARM_UP_S)
    for name in ("driver", "1"):
        seen.jvms.tell(name, 5, peak=400)
    seen.jvms.heap = OwnHeap("G1", 250, 100)
    both = seen.look(5)
    driver, executor = both["driver"], both["executor"]
    assert (driver.allocated_bytes, driver.live_bytes, driver.collector) == (300, 250, "G1")
    assert (executor.allocated_bytes, executor.live_bytes) == (None, None)
    samples = exported(seen.driver)
    expected = {
        'jvm_seconds_total{role="driver"}': 5,
        'jvm_collections_total{generation="new",role="executor"}': 3,
        'jvm_collection_seconds_total{generation="new",role="driver"}': pytest.approx(0.06),
        'jvm_heap_limit_bytes{role="executor"}': 500,
        'jvm_heap_peak_bytes{role="executor"}': 400,
        'jvm_heap_live_bytes{role="driver"}': 250,
        'jvm_allocated_bytes_total{role="driver"}': 300,
        'jvm_collector{collector="G1",role="driver"}': 1,
        'jvm_collector{collector="Parallel",role="executor"}': 1,
        'jvm_new_generation_bytes{role="executor"}': 8 << 20,
    }
    assert {name: samples.get(name) for name in expected} == expected
    assert 'jvm_heap_live_bytes{role="executor"}' not in samples


class Bean:
    """A management bean by its answers."""

    def __init__(self, name: str, **answers: Any) -> None:
        self.answers = {"getName": name, **answers}

    def __getattr__(self, name: str) -> Any:
        return lambda: self.answers[name]


def used(size: int) -> Bean:
    return Bean("", getUsed=size, getCommitted=size)


@pytest.mark.parametrize(
    ("bean", "prefix", "old", "collector"),
    [
        ("Copy", "", "Tenured Gen", "Serial"),
        ("PS Scavenge", "PS ", "PS Old Gen", "Parallel"),
        ("G1 Young Generation", "G1 ", "G1 Old Gen", "G1"),
        ("ZGC Pauses", "ZHeap ", "ZHeap", None),
    ],
)
def test_the_pools_go_by_the_collector(
    bean: str, prefix: str, old: str, collector: str | None
) -> None:
    jvms = SparkJvms.__new__(SparkJvms)
    pools = [
        Bean(f"{prefix}Eden Space", getUsage=used(80), getCollectionUsage=used(0)),
        Bean(old, getUsage=used(70), getCollectionUsage=used(60)),
        Bean("Metaspace", getUsage=used(50), getCollectionUsage=None),
    ]
    collectors = [Bean("Other"), Bean(bean)]
    jvms._find(Bean("", getGarbageCollectorMXBeans=collectors, getMemoryPoolMXBeans=pools))
    assert jvms.own() == OwnHeap(collector, 60 if collector else None, 80)
    pools[1].answers["getCollectionUsage"] = used(0)
    assert jvms.own().live_bytes is None, "nothing was collected yet"

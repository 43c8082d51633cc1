"""Heap and collector from what the collections tell, with the tuning notes' numbers (seed 000)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trimtab.sizing import jvm
from trimtab.sizing.collector import Collector, best_collector, java_options, usual_collector
from trimtab.sizing.heap import GIB, MIB, Collections, overhead_bytes
from trimtab.sizing.jvm import Figures, advise, missed
from trimtab.sizing.overhead import pod_bytes

HOUR = 3600.0


def collected(every_s: float, pause_s: float, over_s: float = HOUR) -> Collections:
    count = over_s / every_s
    return Collections(count, count * pause_s, over_s)


NONE = Collections(0, 0.0, HOUR)
MET = Figures(
    new=collected(10, 0.05), old=collected(600, 1.0), heap_bytes=516 * MIB, slots=1,
    collector=Collector.SERIAL,
)  # fmt: skip


def figures(**changed: Any) -> Figures:
    return replace(MET, **changed)


def test_at_the_targets_there_is_nothing_to_say() -> None:
    assert missed(MET) == ()
    assert advise(MET) is None
    assert advise(figures(new=NONE, old=NONE)) is None


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"new": collected(5, 0.03)}, "collected every 5 s (target 10 s)"),
        ({"new": collected(20, 0.06)}, "takes 60 ms (at most 50 ms, goal 10 ms)"),
        ({"old": collected(300, 0.5)}, "collected every 5 min (target 10 min)"),
        ({"old": collected(1200, 1.5)}, "takes 1.5 s (at most 1 s)"),
    ],
)
def test_each_target_is_judged_by_itself(changed: dict[str, Any], says: str) -> None:
    (words,) = missed(figures(**changed))
    assert says in words


def test_the_notes_heap() -> None:
    """80 MiB/s fill the notes' 800 of 1000 MB in 10 s: 1500 MB beside them, 2500 MB in all."""
    given = advise(
        figures(new=collected(1.7, 0.02), allocated_bytes_per_s=80 * MIB, live_bytes=100 * MIB)
    )
    assert given
    assert (given.new_bytes, given.heap_bytes) == (1000 * MIB, 2500 * MIB)
    assert given.collector is None
    assert "an old one of 1.5 times the new one, 1500 MiB" in given.reason


def test_what_stays_twice_over_governs_where_it_is_larger() -> None:
    given = advise(
        figures(
            new=collected(1.7, 0.02), old=collected(120, 0.3), allocated_bytes_per_s=80 * MIB,
            live_bytes=900 * MIB,
        )
    )  # fmt: skip
    assert given
    assert given.heap_bytes == 2800 * MIB
    assert "twice what stays in it, 1800 MiB" in given.reason


def test_short_collections_that_come_often_are_no_reason_for_more_memory() -> None:
    assert advise(figures(new=collected(1.0, 0.004))) is None
    assert advise(figures(new=collected(1.0, 0.006))) is not None


def test_without_the_allocation_rate_the_heap_grows_step_by_step() -> None:
    varies = figures(new=collected(0.5, 0.02), heap_bytes=600 * MIB, collector=Collector.PARALLEL)
    given = advise(varies)
    assert given
    assert given.new_bytes == 400 * MIB
    assert given.heap_bytes == 1000 * MIB


def test_an_old_generation_that_was_full_doubles() -> None:
    given = advise(figures(old=collected(100, 0.3), heap_bytes=600 * MIB))
    assert given
    assert given.heap_bytes == 200 * MIB + 2 * 400 * MIB


def test_a_serial_heap_tells_what_is_allocated() -> None:
    often = figures(new=collected(2.0, 0.02))
    assert often.allocation == pytest.approx(68.8 * MIB)
    assert replace(often, new_bytes=344 * MIB).allocation == pytest.approx(137.6 * MIB)
    for varies in (Collector.PARALLEL, Collector.G1):
        assert replace(often, collector=varies).allocation is None


def test_the_new_generation_is_left_to_g1() -> None:
    often = figures(new=collected(1, 0.02), heap_bytes=2 * GIB, slots=4, collector=Collector.G1)
    given = advise(often)
    assert given
    assert given.heap_bytes
    assert given.new_bytes is None


@pytest.mark.parametrize(
    ("slots", "memory", "best"),
    [
        (1, 900 * MIB, Collector.SERIAL),
        (4, 900 * MIB, Collector.PARALLEL),
        (4, 1791 * MIB, Collector.PARALLEL),
        (1, 1792 * MIB, Collector.G1),
        (4, 8 * GIB, Collector.G1),
    ],
)
def test_the_collector_goes_by_slots_and_memory(slots: int, memory: int, best: Collector) -> None:
    assert best_collector(slots, memory) is best


def test_another_collector_is_for_pauses_alone() -> None:
    long = figures(new=collected(20, 0.08), slots=4)
    given = advise(long)
    assert given
    assert (given.heap_bytes, given.collector) == (None, Collector.PARALLEL)
    assert "Parallel instead of Serial shortens the pauses" in given.reason
    often = advise(figures(new=collected(2, 0.02), slots=4))
    assert often
    assert often.collector is None


def test_where_nothing_helps_it_says_what_may() -> None:
    given = advise(figures(new=collected(20, 0.08)))
    assert given
    assert (given.heap_bytes, given.collector) == (None, None)
    assert "smaller batches or more executors" in given.reason


def test_nothing_is_judged_before_enough_is_seen() -> None:
    early = collected(1.0, 0.05, over_s=jvm.ENOUGH_S - 1)
    assert advise(figures(new=early)) is None
    assert advise(figures(new=replace(early, over_s=jvm.ENOUGH_S))) is not None
    once = Collections(1, 0.9, jvm.WATCHED_S)
    assert advise(figures(old=once)) is None, "one in ten minutes is allowed"


def test_standing_advice_goes_only_clear_of_the_edge() -> None:
    edge = figures(new=collected(11, 0.045))
    assert advise(edge) is None
    assert advise(edge, standing=True) is not None
    assert advise(figures(new=collected(13, 0.03), old=NONE), standing=True) is None


@pytest.mark.parametrize(
    ("rate", "says"),
    [(300 * MIB, ""), (450 * MIB, "many clouds"), (1100 * MIB, "trouble everywhere")],
)
def test_large_heaps_are_warned_of(rate: float, says: str) -> None:
    given = advise(figures(new=collected(0.2, 0.02), allocated_bytes_per_s=rate))
    assert given
    assert given.heap_bytes
    assert says in given.reason
    assert ("trouble" in given.reason) == bool(says)


def test_a_heap_twice_too_large_is_words_alone() -> None:
    calm = figures(
        new=collected(100, 0.01), old=NONE, heap_bytes=4 * GIB, allocated_bytes_per_s=8 * MIB,
        live_bytes=100 * MIB,
    )  # fmt: skip
    given = advise(calm)
    assert given
    assert (given.heap_bytes, given.collector) == (None, None)
    assert "300 MiB would do" in given.reason
    assert advise(replace(calm, live_bytes=None)) is None


@pytest.mark.parametrize("heap", [450 * MIB, 516 * MIB, 1000 * MIB, 2500 * MIB, 13 * GIB])
def test_a_pod_holds_the_heap_and_its_overhead(heap: int) -> None:
    pod = pod_bytes(heap)
    assert pod - overhead_bytes(pod) >= heap
    less = pod - 64 * MIB
    assert less - overhead_bytes(less) < heap


@pytest.mark.parametrize(
    ("memory", "usual"), [(900 * MIB, Collector.SERIAL), (2 * GIB, Collector.G1)]
)
def test_the_jvms_own_choice(memory: int, usual: Collector) -> None:
    assert usual_collector(memory) is usual


def test_the_options_of_a_jvm() -> None:
    assert java_options(None, None) == ""
    options = java_options(Collector.PARALLEL, 1000 * MIB)
    assert options == "-XX:+UseParallelGC -XX:NewSize=1000m -XX:MaxNewSize=1000m"


def test_what_may_be_chance_is_not_judged() -> None:
    assert advise(figures(new=Collections(2, 0.2, jvm.WATCHED_S))) is None
    assert advise(figures(new=Collections(3, 0.3, jvm.WATCHED_S))) is not None
    assert advise(figures(old=collected(450, 0.5))) is None
    assert advise(figures(old=collected(390, 0.5))) is not None

"""What a pod needs beside its heap, by what it was seen to hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trimtab.sizing.collector import Collector
from trimtab.sizing.heap import MIB, Collections
from trimtab.sizing.jvm import Figures, advise
from trimtab.sizing.overhead import needed_bytes, pod_of_heap, wanted_overhead

CALM = Collections(30, 0.3, 600)
HEAP = 516 * MIB
ROOMY = Figures(
    CALM, Collections(0, 0, 600), HEAP, 1, Collector.SERIAL,
    heap_peak_bytes=350 * MIB, pod_used_bytes=620 * MIB,
)  # fmt: skip


@pytest.mark.parametrize("heap", [516, 1536, 3000])
def test_the_pod_of_a_heap(heap: int) -> None:
    pod = pod_of_heap(heap * MIB)
    assert pod - max(384 * MIB, 0.2 * pod) == pytest.approx(heap * MIB)


def test_what_the_heap_has_not_filled_yet_counts() -> None:
    assert needed_bytes(620 * MIB, HEAP, 350 * MIB) == 786 * MIB
    assert needed_bytes(620 * MIB, HEAP, 600 * MIB) == 620 * MIB


def test_a_pod_with_room_is_left_alone() -> None:
    assert wanted_overhead(786 * MIB, HEAP, 900 * MIB) is None
    assert advise(ROOMY) is None


def test_python_workers_that_do_not_fit_are_given_room() -> None:
    large = replace(ROOMY, pod_used_bytes=880 * MIB)
    found = advise(large)
    assert found is not None
    assert found.heap_bytes is None
    assert found.overhead_bytes == 608 * MIB, "1046 / 0.95 - 516, in steps of 32"
    assert "may come to 1046 of 900 MiB" in found.reason
    given = replace(large, pod_bytes=HEAP + 608.0 * MIB)
    assert advise(given) is None, "what it was given is enough"


def test_where_the_kubelets_say_nothing_nothing_is_said() -> None:
    assert advise(replace(ROOMY, pod_used_bytes=None)) is None
    assert advise(replace(ROOMY, pod_used_bytes=2000.0 * MIB, heap_peak_bytes=None)) is None

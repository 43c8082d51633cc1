"""Which resource the work runs out of, and what is said where that is not known."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.tuning.test_decision import AT_THE_EDGE, batch, memory, overloaded, policy, snapshot

from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.capacity.fit import fit
from trimtab.tuning.capacity.load import measure
from trimtab.tuning.diagnosis.bottleneck import diagnose
from trimtab.tuning.diagnosis.facts import Bottleneck
from trimtab.tuning.law import decide
from trimtab.tuning.settings import Settings


def diagnosed(**seen: Any) -> Bottleneck:
    remembered = memory(settings=Settings(1, 30.0, 20000))
    taken = snapshot(overloaded(**seen), remembered)
    model = fit(remembered.points, 12)
    load = measure(taken, model)
    assert model is not None
    assert load is not None
    return diagnose(taken, model, load)


@pytest.mark.parametrize(
    ("seen", "kind", "words"),
    [
        ({"cpu_ratio": 0.7, "slots_busy": 0.9}, Kind.CPU,
         "slots busy 90%: the tasks compute 70% of their time"),
        ({"cpu_ratio": 0.69}, Kind.CONCURRENCY, "the tasks compute 69% of their time"),
        ({"cpu_ratio": 0.0}, Kind.CONCURRENCY, "the tasks compute 0% of their time"),
        ({"cpu_ratio": None}, Kind.CONCURRENCY, "whether the tasks compute or wait is not known"),
        ({"gc_ratio": 0.2, "heap_used": 0.93, "cpu_ratio": 0.9}, Kind.MEMORY,
         "20% of the tasks' time is garbage collection, the fullest heap was at 93%"),
        ({"gc_ratio": 0.2}, Kind.MEMORY, "is garbage collection"),
        ({"cpu_ratio": 0.5, "partition_bytes": 8 << 20, "fetch_bytes": 1 << 20}, Kind.FETCH,
         "8192 kB in each partition, which take up to 8 fetches of 1024 kB: remove"),
        ({"cpu_ratio": 0.8, "partition_bytes": 8 << 20, "fetch_bytes": 1 << 20}, Kind.CPU, ""),
        ({"partition_bytes": 7 << 20, "fetch_bytes": 1 << 20}, Kind.CONCURRENCY, ""),
        ({"partition_bytes": 80 << 20, "fetch_bytes": None}, Kind.CONCURRENCY, ""),
        ({"gc_ratio": None, "heap_used": 0.99}, Kind.CONCURRENCY, "is not known"),
    ],
)  # fmt: skip
def test_the_work_is_named_by_what_is_known(seen: dict[str, Any], kind: Kind, words: str) -> None:
    found = diagnosed(**seen)
    assert found.kind is kind, found
    assert words in found.evidence


@pytest.mark.parametrize(
    ("slowest", "words"), [("lake", ", the sink lake the most of it"), (None, "")]
)
def test_of_several_sinks_the_slowest_is_named(slowest: str | None, words: str) -> None:
    slow = batch(records=2000, duration_s=10.0, overhead_s=1.0, sink_s=7.0, slowest_sink=slowest)
    found = diagnosed(batch=slow)
    assert found.kind is Kind.SINK, found
    assert found.evidence.endswith(f"7.0 s of 10.0 s{words}")


@pytest.mark.parametrize(("gc_ratio", "points"), [(0.3, True), (None, False)])
def test_memory_that_no_knob_helps_points_to_the_jvms(gc_ratio: float | None, points: bool) -> None:
    few = policy(max_executors=1, pinned={"trigger": 30.0, "maxOffsetsPerTrigger": 20000.0})
    remembered = memory(settings=Settings(1, 30.0, 20000), evidence=AT_THE_EDGE)
    decision, _ = decide(snapshot(overloaded(gc_ratio=gc_ratio), remembered, few), remembered)
    assert decision.reason is Reason.SATURATED, decision
    assert ("status.jvm" in decision.message) == points

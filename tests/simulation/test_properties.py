"""Whatever the plant and the load: verifiers hold, nothing is lost, every figure is a number."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.simulation.figures import figures
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import Scenario

RATES = st.floats(0, 5000)
DURATION_S = 600


def loads() -> st.SearchStrategy[dict[str, Any]]:
    """Every shape of load but a file's, with and without noise."""
    steps = st.lists(RATES, min_size=1, max_size=4).map(
        lambda rates: {"step": [[137.5 * i, rate] for i, rate in enumerate(rates)]}
    )
    period = st.floats(60, 1200)
    shapes = st.one_of(
        steps,
        st.builds(lambda m, a, p: {"cosine": {"mean": m, "amplitude": a, "period_s": p}},
                  RATES, RATES, period),
        st.builds(lambda a, b: {"ramp": {"start_s": 100, "end_s": 400, "low": a, "high": b}},
                  RATES, RATES),
        st.builds(lambda b, p: {"spikes": {"base": b, "peak": p, "every_s": 90, "width_s": 15}},
                  RATES, RATES),
        st.builds(lambda r, s: {"walk": {"start": r, "step": s, "low": 0, "high": 5000}},
                  RATES, st.floats(0, 1000)),
        st.builds(lambda a, b, p: {"diurnal": {"low": a, "high": b, "period_s": p}},
                  RATES, RATES, period),
    )  # fmt: skip
    return st.builds(lambda shape, noise: shape | {"noise": noise}, shapes, st.floats(0, 0.3))


def plants() -> st.SearchStrategy[dict[str, Any]]:
    """Plants with all of their parts, curves that rise, bend, fall or stay."""
    rate = st.floats(10, 2000)
    return st.fixed_dictionaries(
        {"capacity": st.dictionaries(st.integers(1, 12), rate, min_size=1, max_size=4)},
        optional={
            "trigger": st.sampled_from(["spark", "cap"]),
            "batch": st.fixed_dictionaries({
                "fixed_s": st.floats(0.1, 2), "planning_s": st.floats(0, 1),
                "per_task_s": st.floats(0, 0.3), "knee_records": st.floats(100, 1e5),
                "overload": st.floats(0, 4), "noise": st.floats(0, 0.3),
                "noise_memory": st.sampled_from([0, 0.9]),
            }),
            "fetch": st.fixed_dictionaries({"per_record_s": st.floats(0, 0.001)}),
            "waves": st.booleans(),
            "state": st.fixed_dictionaries({
                "commit_s": st.floats(0, 1), "per_record_s": st.floats(0, 0.001),
            }),
            "sink": st.just({0: 0.1, 1000: 0.2, 20_000: 3}),
            "remote": st.fixed_dictionaries({
                "latency_s": st.floats(0, 0.01),
                "rate_limit": st.none() | st.floats(50, 5000),
            }),
            "skew": st.floats(0, 1),
            "locality": st.fixed_dictionaries({"remote_cost": st.floats(0, 2)}),
            "memory": st.fixed_dictionaries({
                "bytes_per_record": st.floats(0, 1e6), "gc_slope": st.floats(0, 4),
            }),
            "change": st.fixed_dictionaries({
                "live_s": st.floats(0, 40), "joins_batch": st.booleans(),
                "query_restart_s": st.floats(0, 5),
                "start_s": st.none() | st.floats(0, 200), "stagger_s": st.floats(0, 20),
            }),
            "cluster": st.fixed_dictionaries({
                "executors_max": st.none() | st.integers(0, 12), "refuses": st.booleans(),
            }),
            "cpu_share": st.floats(0, 1),
            "metrics": st.fixed_dictionaries({
                "scrape_s": st.sampled_from([1, 5, 15, 30]), "delay_s": st.floats(0, 30),
                "noise": st.floats(0, 0.2), "gaps": st.sampled_from([[], [[100, 220]]]),
            }),
        },
    )  # fmt: skip


def faults() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Up to three faults of any kind, at times that may coincide."""
    at, seconds = st.sampled_from([0, 99.9, 100, 250, 251.3, 590]), st.floats(0, 120)
    fault = st.one_of(
        st.fixed_dictionaries({"at": at, "kind": st.just("executor_lost"),
                               "count": st.integers(1, 13), "back_after_s": seconds}),
        st.fixed_dictionaries({"at": at, "kind": st.sampled_from(["gc_pause", "pods_pending"]),
                               "for_s": seconds}),
        st.fixed_dictionaries({"at": at, "kind": st.just("driver_lost"),
                               "back_after_s": seconds}),
        st.fixed_dictionaries({"at": at, "kind": st.sampled_from(["remote_slow", "work_slow"]),
                               "factor": st.floats(0.5, 20), "for_s": seconds}),
    )  # fmt: skip
    return st.lists(fault, max_size=3)


GOALS = st.one_of(
    st.floats(0.5, 60).map(lambda target: {"latency": {"target": target, "catchUp": 120}}),
    st.integers(1, 5000).map(lambda rate: {"throughput": {"recordsPerSecond": rate}}),
    st.just({"throughput": {"max": True}}),
)

STARTS = st.fixed_dictionaries({
    "executors": st.integers(1, 12), "trigger": st.sampled_from([0, 0.2, 1, 2, 10, 60]),
    "maxOffsetsPerTrigger": st.sampled_from([1, 100, 10_000, 10**6]),
    "maxInFlight": st.integers(1, 5), "minPartitions": st.sampled_from([0, 24]),
    "backlog": st.floats(0, 1e5),
    "locality.scope": st.sampled_from(["Process", "Node", "Zone", "Any"]),
})  # fmt: skip

TUNINGS = st.fixed_dictionaries({
    "bounds": st.sampled_from([
        {"higher": 0.8, "lower": 0.5}, {"higher": 1, "lower": 0.9}, {"higher": 0.5, "lower": 0.1},
    ]),
    "dwell": st.fixed_dictionaries({"up": st.integers(1, 4), "down": st.integers(1, 8)}),
})  # fmt: skip

SCENARIOS = st.fixed_dictionaries({
    "name": st.just("any"), "duration": st.just(DURATION_S), "tick": st.sampled_from([5, 10, 30]),
    "partitions": st.integers(1, 16), "load": loads(), "plant": plants(), "faults": faults(),
    "goal": GOALS, "tuning": TUNINGS, "start": STARTS,
    "limits": st.sampled_from([
        {"executors": {"min": 1, "max": 10}}, {"executors": {"min": 3, "max": 3}},
        {"executors": {"min": 1, "max": 12}, "cores": 5},
    ]),
})  # fmt: skip


def nothing_is_lost(run: Run) -> None:
    """Batches follow each other in time and in records, and take what has arrived."""
    assert not run.batches or run.batches[0].first == 0
    for one, after in itertools.pairwise(run.batches):
        assert one.last == after.first
        assert one.end_s <= after.start_s
        assert after.id == one.id + 1
    for batch in run.batches:
        assert batch.last <= run.arrivals.total(batch.start_s) * (1 + 1e-9) or batch.replayed
        assert batch.last > batch.first


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [n for part in value.values() for n in numbers(part)]
    if isinstance(value, list):
        return [n for part in value for n in numbers(part)]
    return [value] if isinstance(value, int | float) else []


def holds(data: dict[str, Any]) -> None:
    run = simulate(Scenario.model_validate(data), 1)
    nothing_is_lost(run)
    result = figures(run)
    assert all(math.isfinite(n) for n in numbers(result))
    json.dumps(result)
    verdicts = result["verdicts"]
    verdicts.pop("settles")  # ten minutes of noise and faults need not come to rest
    verdicts.pop("not_always_busy")  # nor need any setting do
    assert all(verdicts.values()), verdicts


@settings(max_examples=40)
@given(data=SCENARIOS)
def test_any_plant(data: dict[str, Any]) -> None:
    holds(data)


BARE = {
    "name": "any", "duration": DURATION_S, "tick": 10, "partitions": 11,
    "plant": {"capacity": {1: 500}}, "goal": {"throughput": {"recordsPerSecond": 100}},
}  # fmt: skip
ONCE_FAILED = {
    "limits that need no metrics to be kept": {
        "load": {"step": [[0, 100]]}, "start": {"executors": 9, "trigger": 2},
        "plant": {"capacity": {1: 500}, "metrics": {"delay_s": 30}},
        "limits": {"executors": {"min": 3, "max": 3}},
    },
    "executors that are refused while the driver is away": {
        "load": {"spikes": {"base": 3106.0, "peak": 6.0, "every_s": 90, "width_s": 15}},
        "partitions": 2,
        "start": {"executors": 1, "trigger": 0, "maxOffsetsPerTrigger": 100},
        "plant": {"capacity": {1: 10.0}, "cpu_share": 0, "metrics": {"scrape_s": 1},
                  "cluster": {"executors_max": 1, "refuses": True}},
        "goal": {"latency": {"target": 3.0, "catchUp": 120}},
        "tuning": {"bounds": {"higher": 1, "lower": 0.9}, "dwell": {"up": 1, "down": 1}},
        "faults": [{"at": 99.9, "kind": "driver_lost", "back_after_s": 15.0}],
        "limits": {"executors": {"min": 1, "max": 10}},
    },
    "a batch that began twice after a restart": {
        "load": {
            "ramp": {"start_s": 100, "end_s": 400, "low": 0, "high": 3157.8342655013876},
            "noise": 0.0026029992860354886,
        },
        "start": {"executors": 1, "trigger": 60, "maxOffsetsPerTrigger": 1, "backlog": 300},
        "plant": {"capacity": {5: 610, 3: 1999, 8: 1349, 12: 300}}, "tick": 5,
        "goal": {"throughput": {"recordsPerSecond": 1}},
        "tuning": {"dwell": {"up": 1, "down": 1}},
        "faults": [{"at": 100, "kind": "executor_lost", "count": 10, "back_after_s": 111.3}],
        "limits": {"executors": {"min": 3, "max": 3}},
    },
}  # fmt: skip


@pytest.mark.parametrize("name", list(ONCE_FAILED))
def test_what_once_failed(name: str) -> None:
    holds(BARE | ONCE_FAILED[name])

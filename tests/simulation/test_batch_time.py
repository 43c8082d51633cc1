"""Each term of a batch's duration, against its formula in docs/simulation.md."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.plants import scenario
from trimtab.simulation.batch_time import Phases, batch_phases, capacity


def spent(records: float, executors: int, **parts: Any) -> Phases:
    start = parts.pop("start", {})
    case = scenario(partitions=parts.pop("partitions", 4), plant=parts, start=start)
    return batch_phases(case, case.settings(), records, executors)


def test_capacity_between_below_and_above_its_points() -> None:
    case = scenario(plant={"capacity": {2: 300, 4: 500}}).plant
    assert [capacity(case, p) for p in (1, 2, 3, 4, 9)] == [150, 300, 400, 500, 500]


def test_overhead_is_the_sum_of_its_parts() -> None:
    batch = {"fixed_s": 0.5, "planning_s": 0.25, "per_task_s": 0.1}
    two = spent(0, 2, batch=batch)
    assert (two.wal, two.planning, two.tasks) == (0.5, 0.25, pytest.approx(0.1 * 4 / 2))
    assert two.total == pytest.approx(0.95)
    assert spent(0, 9, batch=batch).tasks == pytest.approx(0.1)


def test_more_executors_than_tasks_do_not_help() -> None:
    wide = {p: 200.0 * p for p in (1, 8)}
    assert spent(800, 8, capacity=wide).work == spent(800, 4, capacity=wide).work
    assert spent(800, 8, capacity=wide, start={"minPartitions": 8}).work == pytest.approx(0.5)


def test_a_hot_partition_is_one_task_unless_it_is_split() -> None:
    hot = 400 * (0.25 + 0.5 * 0.75)
    assert spent(400, 2, skew=0.5).work == pytest.approx(hot / 200)
    assert spent(400, 2, skew=0.5, start={"minPartitions": 8}).work == pytest.approx(1)
    assert spent(400, 2).work == pytest.approx(1)


def test_waves_count_for_all_of_the_work() -> None:
    wide = {1: 100.0, 4: 400.0}
    fetch = {"per_record_s": 0.001}
    flat = spent(400, 4, capacity=wide, partitions=7, fetch=fetch).work
    assert spent(400, 4, capacity=wide, partitions=7, fetch=fetch, waves=True).work == (
        pytest.approx(flat * 2 * 4 / 7)
    )


def test_fetch_state_and_sink() -> None:
    state = {"commit_s": 0.1, "per_record_s": 0.0005}
    one = spent(400, 2, fetch={"per_record_s": 0.001}, state=state, sink={0: 0.1, 800: 0.5})
    assert one.fetch == pytest.approx(0.2)
    assert one.work == pytest.approx(1.2)
    assert one.state == pytest.approx(0.3)
    assert one.sink == pytest.approx(0.3)


def test_beyond_the_knee_a_batch_is_overloaded() -> None:
    batch = {"fixed_s": 0, "knee_records": 100, "overload": 4}
    assert spent(200, 2, batch=batch).work == pytest.approx(0.5)
    assert spent(300, 2, batch=batch).work == pytest.approx(0.75 * (1 + 4 * 0.5))


def test_a_full_heap_collects_garbage() -> None:
    memory = {"bytes_per_record": 1000, "heap_bytes": 400_000, "gc_knee": 0.5, "gc_slope": 4}
    one = spent(400, 1, memory=memory)
    assert one.work == pytest.approx(2 * (1 + 2))
    assert one.gc_ratio == pytest.approx(2 / 3)
    assert spent(200, 1, memory=memory).gc_ratio == 0


@pytest.mark.parametrize(
    ("scope", "share"), [("Process", 0), ("Node", 0.25), ("Zone", 0.5), ("Any", 1)]
)
def test_reading_from_afar_costs(scope: str, share: float) -> None:
    one = spent(400, 2, locality={"remote_cost": 0.4}, start={"locality.scope": scope})
    assert one.work == pytest.approx(1 + 0.4 * share)


def test_remote_calls_are_a_floor_without_garbage_and_skew() -> None:
    memory = {"bytes_per_record": 1e6}
    free = {"capacity": {1: 1e9}, "skew": 0.5, "memory": memory}
    calls = spent(400, 2, remote={"latency_s": 0.1}, start={"maxInFlight": 5}, **free)
    assert calls.remote_binds
    assert calls.work == pytest.approx(400 / (2 * 5) * 0.1)
    assert spent(400, 2, remote={"rate_limit": 50}, **free).work == pytest.approx(8)
    assert not spent(400, 2, remote={"latency_s": 0.001}).remote_binds

"""What the samples of the executors come to, and what is left unsaid."""

from __future__ import annotations

import pytest

from trimtab.job.telemetry.driver_state import DriverState, Load
from trimtab.job.telemetry.sampler import (
    CAPACITY_WINDOW,
    SAMPLE_S,
    Sampler,
    cpu_share,
    executor_loads,
    gc_share,
    heap_share,
    slots_busy,
)  # fmt: skip
from trimtab.job.telemetry.work import ExecutorWork, StageWork, Work

STAGE = StageWork(cpu_ms=300, task_ms=1000, heap_bytes=50, localities={"PROCESS_LOCAL": 4})


def one(busy: int, task_ms: int = 0, gc_ms: int = 0, waiting: int = 0) -> Work:
    return Work({"1": ExecutorWork(busy, 4, task_ms)}, gc_ms, waiting)


def test_the_busy_share_is_a_mean() -> None:
    assert slots_busy([one(1), one(3)]) == 0.5
    assert slots_busy([Work({})]) is None


def test_collection_time_needs_tasks_that_have_ended() -> None:
    assert gc_share([one(1, 1000, 10), one(3, 1000, 10)]) is None
    assert gc_share([one(0, 1000, 10), one(0, 3000, 110)]) == pytest.approx(0.05)


def test_cpu_and_heap_are_those_of_the_stages() -> None:
    other = StageWork(cpu_ms=900, task_ms=1000, heap_bytes=80, localities={})
    assert cpu_share([STAGE, other]) == pytest.approx(0.6)
    assert heap_share([STAGE, other], 100) == pytest.approx(0.8)
    unseen = StageWork(cpu_ms=0, task_ms=0, heap_bytes=None, localities={})
    assert cpu_share([unseen]) is None
    assert heap_share([unseen], 100) is None


def test_an_executor_is_loaded_by_its_tasks_or_by_those_that_wait() -> None:
    assert executor_loads([one(1)])["1"].load == 0.25
    assert executor_loads([one(1), one(3)])["1"].load == 0.5
    assert executor_loads([one(1, waiting=2)])["1"].load == 0.5
    assert executor_loads([one(1, waiting=99)])["1"].load == 1.0
    idle = ExecutorWork(0, 4, 0)
    shared = executor_loads([Work({"1": idle, "2": idle}, waiting=4)])
    assert {name: found.load for name, found in shared.items()} == {"1": 0.5, "2": 0.5}


def test_capacity_is_task_time_per_slot_time() -> None:
    assert executor_loads([one(0)])["1"].capacity is None
    half = int(0.5 * 4 * SAMPLE_S * 1000)
    assert executor_loads([one(0, 0), one(0, half)])["1"].capacity == pytest.approx(0.5)


def test_an_executor_that_has_gone_has_no_load() -> None:
    assert executor_loads([one(1), Work({"2": ExecutorWork(0, 4, 0)})]).keys() == {"2"}
    assert executor_loads([]) == {}


class Source:
    """One stage in the first sample, none later."""

    def __init__(self) -> None:
        self.stages = [STAGE]

    def work(self) -> Work:
        return one(1)

    def ended(self) -> list[StageWork]:
        ended, self.stages = self.stages, []
        return ended


def load_after(samples: int, *, uses_python: bool | None) -> tuple[Load, DriverState]:
    driver = DriverState(uses_python=uses_python)
    sampler = Sampler(driver, Source(), 100, None, lambda _: None)
    for _ in range(samples):
        sampler.sample()
    assert driver.load is not None
    return driver.load, driver


def test_what_the_last_stage_told_stays_and_is_counted_once() -> None:
    load, driver = load_after(CAPACITY_WINDOW + 2, uses_python=False)
    assert (load.cpu, load.heap) == (0.3, 0.5)
    assert driver.totals.localities == {"PROCESS_LOCAL": 4}


@pytest.mark.parametrize("uses_python", [True, None])
def test_with_python_workers_the_cpu_share_is_not_known(uses_python: bool | None) -> None:
    load, _ = load_after(1, uses_python=uses_python)
    assert load.cpu is None
    assert load.heap == 0.5

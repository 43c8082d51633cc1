"""Triggers, restarts, executors that come and go, and faults, against hand-computed times."""

from __future__ import annotations

import itertools
import random
import statistics
from dataclasses import replace
from typing import Any

import pytest

from simulation.plants import batches, plant, scenario
from trimtab.simulation.batch_time import Noise
from trimtab.simulation.plant import Plant
from trimtab.simulation.plant_model import BatchCost
from trimtab.simulation.running import BatchRecord

FAST = {"change": {"live_s": 1, "query_restart_s": 1.5}}


def times(run: list[BatchRecord]) -> list[tuple[float, float]]:
    return [(round(b.start_s, 6), round(b.end_s, 6)) for b in run]


def faulty(fault: dict[str, Any], **changes: Any) -> Plant:
    return plant(scenario(faults=[fault], **changes))


def until(running: Plant, at_s: float) -> Plant:
    while running.now_s < at_s and running.advance():
        pass
    return running


def test_without_a_trigger_batches_follow_each_other() -> None:
    run = batches(plant(scenario(start={"trigger": 0, "backlog": 100})), 5)
    assert all(b.start_s == a.end_s for a, b in itertools.pairwise(run))


def test_an_empty_source_is_looked_at_on_each_edge() -> None:
    run = batches(plant(scenario(load={"step": [[0, 0], [5, 100]]})), 2)
    assert times(run) == [(6.0, 7.0), (8.0, 9.5)]


def test_a_restart_moves_to_the_new_grid_and_no_old_edge_counts() -> None:
    """Trigger 5 -> 2 between two batches of 10/s: 1.5 s without, then a batch of 35 records."""
    slow = {"step": [[0, 10]]}
    running = until(plant(scenario(tick=12, load=slow, start={"trigger": 5}, plant=FAST)), 12)
    running.apply(1, replace(running.settings, trigger_s=2.0))
    starts = [round(b.start_s, 6) for b in batches(running, 6)]
    assert starts == [5, 10, 13.5, 14.175, 16, 18], "15 was an edge of the old trigger"
    assert [b.run for b in running.batches[:4]] == [1, 1, 2, 2]


def test_a_restart_that_keeps_the_grid_begins_each_batch_once() -> None:
    """Only the limit moves, so that the old edge at 15 is the new one as well."""
    start = {"trigger": 5, "maxOffsetsPerTrigger": 100, "backlog": 2000}
    running = until(plant(scenario(tick=12, start=start, plant=FAST)), 12)
    running.apply(1, replace(running.settings, max_offsets=50))
    run = batches(running, 6)
    assert [round(b.start_s, 6) for b in run] == [0, 5, 10, 13.5, 15, 20]
    assert all(a.last == b.first for a, b in itertools.pairwise(run))


def test_a_change_that_is_taken_back_before_the_restart_is_gone() -> None:
    running = until(plant(scenario(tick=2.5)), 2.5)
    was = running.settings
    running.apply(1, replace(was, trigger_s=5.0))
    running.apply(2, was)
    batches(running, 4)
    assert (running.generation, running.settings) == (2, was)
    assert {b.run for b in running.batches} == {1}


def test_executors_beyond_the_tasks_do_not_shorten_a_batch() -> None:
    wide = FAST | {"capacity": {1: 100, 8: 800}}
    start = {"executors": 4, "backlog": 4000}
    running = until(plant(scenario(tick=0.5, plant=wide, start=start)), 0.5)
    running.apply(1, replace(running.settings, executors=8))
    assert times(batches(running, 1)) == [(0.0, 10.5)]


@pytest.mark.parametrize(("joins", "end_s"), [(True, 6.0), (False, 10.5)])
def test_executors_join_a_batch_or_the_next_one(joins: bool, end_s: float) -> None:
    """2000 records on one: 0.5 + 10 s; a second one at 1.5 halves the 9 s that are left."""
    plants = {"change": {"live_s": 1, "joins_batch": joins}}
    running = until(plant(scenario(tick=0.5, plant=plants, start={"backlog": 2000})), 0.5)
    running.apply(1, replace(running.settings, executors=2))
    first = batches(running, 1)[0]
    assert times([first]) == [(0.0, end_s)]
    assert first.executors_min == 1
    assert running.executors == 2


def test_a_lost_executor_takes_its_part_of_the_work_along() -> None:
    """2000 records on two: 0.5 + 5 s. At 2.5, 2 s are done: half again, and 4 s left take 8."""
    lost = {"at": 2.5, "kind": "executor_lost", "count": 1, "back_after_s": 50}
    start = {"executors": 2, "backlog": 2000}
    joins = {"change": {"joins_batch": False}}
    assert times(batches(faulty(lost, start=start), 1)) == [(0.0, 10.5)]
    assert times(batches(faulty(lost, start=start, plant=joins), 1)) == [(0.0, 10.5)]


def test_without_an_executor_nothing_goes_on() -> None:
    """One of one is lost at 2.5 of 0.5 + 10 s: 2 s are done again, from 12.5 on."""
    lost = {"at": 2.5, "kind": "executor_lost", "count": 1, "back_after_s": 10}
    first = batches(faulty(lost, start={"backlog": 2000}), 1)[0]
    assert times([first]) == [(0.0, 22.5)]
    assert first.executors_min == 0


def test_a_lost_executor_is_back_no_sooner_because_others_come() -> None:
    lost = {"at": 0.2, "kind": "executor_lost", "count": 1, "back_after_s": 20}
    running = until(faulty(lost, tick=0.5, start={"executors": 2}, plant=FAST), 0.5)
    running.apply(1, replace(running.settings, executors=4))
    assert until(running, 5).executors == 3
    assert until(running, 20.5).executors == 4


@pytest.mark.parametrize(("at_s", "first"), [(1.0, (0.0, 15.5)), (0.2, (0.0, 15.5))])
def test_a_pause_delays_all_that_is_to_come(at_s: float, first: tuple[float, float]) -> None:
    pause = {"at": at_s, "kind": "gc_pause", "for_s": 5}
    assert times(batches(faulty(pause, start={"backlog": 2000}), 1)) == [first]


def test_a_pause_between_batches_delays_the_next() -> None:
    pause = {"at": 3.6, "kind": "gc_pause", "for_s": 5}
    assert times(batches(faulty(pause), 2)) == [(2.0, 3.5), (4.0, 10.1)]


def test_a_lost_driver_runs_the_same_batch_again_and_says_so() -> None:
    lost = {"at": 4.5, "kind": "driver_lost", "back_after_s": 10}
    run = batches(faulty(lost), 3)
    assert times(run[:2]) == [(2.0, 3.5), (14.5, 16.0)]
    assert [(b.first, b.last) for b in run[:2]] == [(0, 200), (200, 400)]
    assert [b.replayed for b in run] == [False, True, False]
    assert [(b.run, b.since_start) for b in run] == [(1, 1), (2, 1), (2, 2)]


def test_a_lost_driver_takes_its_restart_where_nothing_else_is_said() -> None:
    lost = {"at": 4.5, "kind": "driver_lost"}
    change = {"change": {"driver_restart_s": 20}}
    assert times(batches(faulty(lost, plant=change), 2))[1] == (24.5, 26.0)


def test_a_slow_remote_slows_the_batches_that_begin_meanwhile() -> None:
    slow = {"at": 3, "kind": "remote_slow", "factor": 3, "for_s": 2}
    remote = {"remote": {"latency_s": 0.005}}
    run = batches(faulty(slow, plant=remote), 3)
    assert [round(b.duration_s, 6) for b in run] == [1.5, 3.5, pytest.approx(0.5 + 1.75)]


def test_pods_wait_while_none_fit() -> None:
    pending = {"at": 0.2, "kind": "pods_pending", "for_s": 10}
    running = until(faulty(pending, tick=0.5, plant=FAST), 0.5)
    running.apply(1, replace(running.settings, executors=3))
    assert until(running, 9).executors == 1
    assert until(running, 10.5).executors == 3


def test_slow_work_slows_the_batches_that_begin_meanwhile() -> None:
    slow = {"at": 3, "kind": "work_slow", "factor": 3, "for_s": 2}
    run = batches(faulty(slow), 3)
    assert [round(b.duration_s, 6) for b in run] == [1.5, 3.5, pytest.approx(0.5 + 1.75)]


def test_one_slowness_may_follow_another_at_once() -> None:
    first = {"at": 3, "kind": "work_slow", "factor": 3, "for_s": 8}
    then = {"at": 11, "kind": "work_slow", "factor": 2, "for_s": 8}
    done = batches(plant(scenario(faults=[first, then])), 8)
    each_s = [b.phases.work / b.records / (done[0].phases.work / done[0].records) for b in done]
    assert [round(paced, 6) for b, paced in zip(done, each_s, strict=True) if b.start_s < 3] == [1]
    assert {round(p, 6) for b, p in zip(done, each_s, strict=True) if 3 < b.start_s < 11} == {3}
    assert {round(p, 6) for b, p in zip(done, each_s, strict=True) if 11 < b.start_s < 19} == {2}


SLOW_START = {"change": {"live_s": 1, "start_s": 20, "stagger_s": 5}}


@pytest.mark.parametrize(
    ("cost", "asked_at_s", "ends_s"),
    [
        (0, 0, 20 + 20.5 / 2),  # 19.5 of 40 s of work are done when the second one runs
        (0.25, 0, 20 + (50 - 19.5) / 1.25 / 2),
        (0.25, 10, 30 + (30.5 * 1.25 - 20) / 1.25 / 2),
    ],
)
def test_executors_that_start_slow_the_batches_down(
    cost: float, asked_at_s: float, ends_s: float
) -> None:
    change = {"live_s": 1, "start_s": 20, "starting_cost": cost}
    case = scenario(tick=0.5, plant={"change": change}, start={"backlog": 8000})
    running = until(plant(case), asked_at_s) if asked_at_s else plant(case)
    running.apply(1, replace(running.settings, executors=2))
    assert batches(running, 1)[0].end_s == pytest.approx(ends_s)


def test_a_start_without_a_place_slows_nothing_down() -> None:
    slow = {"change": {"start_s": 20, "starting_cost": 1}, "cluster": {"executors_max": 1}}
    running = plant(scenario(plant=slow, start={"backlog": 8000}))
    running.apply(1, replace(running.settings, executors=2))
    assert batches(running, 1)[0].end_s == pytest.approx(40.5)


def test_restarts_vary_by_their_noise() -> None:
    running = plant(scenario(plant={"change": {"restart_noise": 0.3}}))
    taken_s = [running.restart_s(10) for _ in range(5000)]
    assert statistics.fmean(taken_s) == pytest.approx(10, rel=0.02)
    assert statistics.stdev(taken_s) == pytest.approx(3, rel=0.05)
    assert plant(scenario()).restart_s(10) == 10


def test_executors_start_slowly_one_after_the_other_and_stop_together() -> None:
    running = until(plant(scenario(tick=0.5, plant=SLOW_START)), 0.5)
    running.apply(1, replace(running.settings, executors=4))
    there = [until(running, at_s).executors for at_s in (20, 20.5, 25, 25.5, 30, 30.5)]
    assert there == [1, 2, 2, 3, 3, 4]
    running.apply(2, replace(running.settings, executors=2))
    assert [until(running, at_s).executors for at_s in (31, 31.5)] == [4, 2]


def test_an_executor_that_is_put_back_before_it_runs_starts_anew() -> None:
    running = until(plant(scenario(tick=0.5, plant=SLOW_START)), 0.5)
    running.apply(1, replace(running.settings, executors=2))
    running.apply(2, replace(until(running, 10).settings, executors=1))
    running.apply(3, replace(until(running, 15).settings, executors=2))
    assert [until(running, at_s).executors for at_s in (21, 34.5, 35)] == [1, 1, 2]


def test_a_quota_refuses_and_a_full_cluster_does_not() -> None:
    for refuses in (True, False):
        full = FAST | {"cluster": {"executors_max": 2, "refuses": refuses}}
        running = until(plant(scenario(tick=0.5, plant=full)), 0.5)
        running.apply(1, replace(running.settings, executors=2))
        assert not running.fleet.missing.executors_missing
        running.apply(2, replace(running.settings, executors=3))
        assert running.fleet.missing.executors_missing
        assert running.fleet.missing.executors_refused is refuses
        assert until(running, 5).executors == 2


def test_noise_with_a_memory_comes_in_runs_of_the_same_spread() -> None:
    def factors(memory: float) -> list[float]:
        noise = Noise(random.Random("noise"), BatchCost(noise=0.1, noise_memory=memory))
        return [noise.factor() for _ in range(20_000)]

    for memory in (0.0, 0.9):
        drawn = factors(memory)
        assert statistics.pstdev(drawn) == pytest.approx(0.1, rel=0.05)
        assert statistics.correlation(drawn[:-1], drawn[1:]) == pytest.approx(memory, abs=0.02)


def test_a_share_of_the_batches_is_doubled() -> None:
    noise = Noise(random.Random("noise"), BatchCost(doubled=0.03))
    drawn = [noise.factor() for _ in range(20_000)]
    assert set(drawn) == {1.0, 2.0}
    assert drawn.count(2.0) / len(drawn) == pytest.approx(0.03, abs=0.005)


def test_noise_is_cut_and_drawn_from_its_own_stream() -> None:
    noisy = {"batch": {"fixed_s": 0.5, "noise": 0.4}}
    run = batches(plant(scenario(duration=4000, plant=noisy)), 1000)
    factors = [b.duration_s / (0.5 + b.records / 200) for b in run]
    assert min(factors) == pytest.approx(0.2)
    assert 1.9 < max(factors) <= 2.2 + 1e-9
    again = batches(plant(scenario(duration=4000, plant=noisy)), 10)
    assert times(again) == times(run[:10])

"""The simulator against what queueing theory and Spark's own trigger say exactly."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from simulation.plants import batches, plant, scenario
from trimtab.simulation.plant import Plant

LOADS = [
    {"step": [[0, 60], [200, 140], [400, 20]]},
    {"cosine": {"mean": 80, "amplitude": 60, "period_s": 150}},
    {"walk": {"start": 80, "step": 30, "low": 10, "high": 150, "every_s": 20}, "noise": 0.1},
]
NOISY = {"batch": {"fixed_s": 0.3, "noise": 0.2}}


def through(running: Plant) -> Plant:
    while running.advance():
        pass
    return running


def area(running: Plant, until_s: float) -> float:
    """Records × seconds in the system: the integral of arrived − committed, exactly."""
    flow, sum_ = running.arrivals, 0.0
    edges = sorted({*(t for t in flow.starts_s if t < until_s), 0.0, until_s})
    for low, high in itertools.pairwise(edges):
        sum_ += (flow.total(low) + flow.total(high)) / 2 * (high - low)  # linear within a piece
    done = [b for b in running.batches if b.end_s <= until_s]
    return sum_ - sum(b.records * (until_s - b.end_s) for b in done)


def waited(running: Plant, until_s: float) -> float:
    """The sum of what each record waited from its arrival to its commit, or to the end."""
    flow, sum_ = running.arrivals, 0.0
    ends = [(b.first, b.last, b.end_s) for b in running.batches if b.end_s <= until_s]
    taken = ends[-1][1] if ends else 0.0
    for first, last, end_s in [*ends, (taken, flow.total(until_s), until_s)]:
        cuts = [flow.total(t) for t in flow.starts_s]
        edges = sorted({first, last, *(c for c in cuts if first < c < last)})
        for low, high in itertools.pairwise(edges):
            middle = flow.time_of((low + high) / 2)
            sum_ += (high - low) * (end_s - middle)
    return sum_


@pytest.mark.parametrize("load", LOADS, ids=lambda load: next(iter(load)))
def test_littles_law(load: dict[str, Any]) -> None:
    """L = λ·W (Little 1961), with both sides summed over one run: exact for any load."""
    case = scenario(duration=600, load=load, plant=NOISY)
    running = through(plant(case))
    inside, sojourn = area(running, 600), waited(running, 600)
    assert len(running.batches) > 200
    assert inside == pytest.approx(sojourn, rel=1e-9)


def test_littles_law_in_steady_state() -> None:
    """At 100/s, T = 2 and D = 1.5 s a record waits 1 s for its batch and 1.5 s in it."""
    running = through(plant(scenario(duration=402)))
    first, last = (area(running, t) for t in (2.0, 402.0))
    assert (last - first) / 400 == pytest.approx(100 * (1.0 + 1.5), rel=1e-6)


@pytest.mark.parametrize("load", LOADS, ids=lambda load: next(iter(load)))
def test_no_record_is_lost_or_made(load: dict[str, Any]) -> None:
    faults = [
        {"at": 100.4, "kind": "driver_lost", "back_after_s": 25},
        {"at": 222.2, "kind": "executor_lost", "count": 1, "back_after_s": 30},
    ]
    case = scenario(duration=600, load=load, plant=NOISY, faults=faults, start={"backlog": 500})
    running = plant(case)
    while running.advance():
        assert running.taken + running.backlog == pytest.approx(
            running.arrivals.total(running.now_s)
            + (running.replay[1] - running.taken if running.replay else 0)
        )
    assert running.batches[0].first == 0
    assert all(a.last == b.first for a, b in itertools.pairwise(running.batches))
    assert running.committed == running.batches[-1].last


@pytest.mark.parametrize("trigger_s", [0.2, 0.5, 1.0, 2.0, 5.0, 30.0])
def test_sparks_trigger_grid(trigger_s: float) -> None:
    """ProcessingTimeExecutor: wait for floor(start/T)·T + T, and skip the edges one is late for."""
    case = scenario(duration=600, plant=NOISY, start={"trigger": trigger_s})
    run = through(plant(case)).batches
    late = 0
    for one, after in itertools.pairwise(run):
        edge = math.floor(one.start_s / trigger_s + 1e-9) * trigger_s + trigger_s
        assert after.start_s == pytest.approx(max(one.end_s, edge), abs=1e-9)
        late += one.end_s > edge
    assert (late > 0) == (trigger_s <= 2.0)


def test_a_fixed_load_settles_where_the_batch_equals_the_wait() -> None:
    """Without a trigger n = r·D and D = o + n/cap, so D = o/(1 − r/cap): 0.5/(1 − 0.5) = 1 s."""
    run = batches(plant(scenario(start={"trigger": 0, "backlog": 10})), 60)
    assert run[-1].duration_s == pytest.approx(1.0)
    assert run[-1].records == pytest.approx(100)


def test_sustainable_rates_divide_stable_runs_from_unstable_ones() -> None:
    """s(p, T) = cap·(1 − o/T) = 150/s: just below it the lag stays, just above it grows."""
    for rate, grows in ((149.0, False), (151.0, True)):
        load = {"step": [[0, rate]]}
        start = {"maxOffsetsPerTrigger": 300}
        running = through(plant(scenario(duration=2000, load=load, start=start)))
        assert (running.backlog > 2 * 2 * rate) is grows


# The pace of the seed (Storm + Trident): a cap of 500 ms and not an add-on.
@pytest.mark.parametrize(
    ("took_s", "waits_s"), [(0.486, 0.014), (0.523, 0.0), (1.4, 0.0)], ids=["486", "523", "1400"]
)
def test_the_seeds_pace_is_a_cap_and_makes_nothing_up(took_s: float, waits_s: float) -> None:
    """14 ms after 486 ms; at once after 523 and 1400 ms, and the batch after that in its own time.

    The long one comes from a pause in one batch of 100 ms, so that there would be something to
    make up.
    """
    pause = {"at": 5.0, "kind": "gc_pause", "for_s": took_s - 0.1}
    case = scenario(
        load={"step": [[0, 1000]]}, faults=[pause],
        plant={"capacity": {1: 1e9}, "batch": {"fixed_s": 0.1}, "trigger": "cap"},
        start={"trigger": 0.5, "maxOffsetsPerTrigger": 100},
    )  # fmt: skip
    run = batches(plant(case), 30)
    index = next(i for i, b in enumerate(run) if b.duration_s > 0.11)
    slow, after, later = run[index : index + 3]
    assert slow.duration_s == pytest.approx(took_s, abs=1e-3)
    assert after.start_s - slow.end_s == pytest.approx(waits_s, abs=1e-6)
    assert later.start_s - after.start_s == pytest.approx(0.5)


def test_the_delay_of_batches_is_a_d_g_1_queue() -> None:
    """Waiting in a queue, in the form that this plant has it.

    Arrivals are fluid, so that nothing about them is Poisson and M/D/1 does not apply. What is
    random is the work of a batch. With a limit that always binds, work of D comes each T: D/G/1.
    A batch starts W after its edge, and W' = max(0, W + D − T) (Lindley 1952), as long as W < T.
    Its mean is positive and at most σ²/(2·T·(1 − ρ)) (Kingman 1962).
    """
    case = scenario(
        duration=20_000, load={"step": [[0, 500]]},
        plant={"batch": {"fixed_s": 0.9, "noise": 0.1}},
        start={"trigger": 2, "maxOffsetsPerTrigger": 180, "backlog": 1000},
    )  # fmt: skip
    run = through(plant(case)).batches
    waits, expected = [b.start_s - 2.0 * k for k, b in enumerate(run)], [0.0]
    for batch in run[:-1]:
        expected.append(max(0.0, expected[-1] + batch.duration_s - 2.0))
    assert waits == pytest.approx(expected, abs=1e-6)
    sigma_s, rho, mean_s = 0.1 * 1.8, 1.8 / 2, sum(waits) / len(waits)
    assert 0.01 < mean_s <= sigma_s**2 / (2 * 2 * (1 - rho))
    assert sum(b.duration_s for b in run) / len(run) == pytest.approx(1.8, rel=0.01)

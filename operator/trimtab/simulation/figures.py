"""The figures of a run; None if a figure has no meaning."""

from __future__ import annotations

import bisect
import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from trimtab.api.reasons import Reason
from trimtab.simulation.batch_time import batch_phases
from trimtab.simulation.run import Run
from trimtab.simulation.scenario import Scenario
from trimtab.simulation.verifiers import verify
from trimtab.tuning.settings import Settings

TAIL_S = 120.0
"""A violation in the last seconds of a run counts as not recovered."""

LONG_S = 60.0
"""Used as the trigger if there is none: batches may be of any size."""


def figures(run: Run, verdicts: Callable[[Run], dict[str, bool]] = verify) -> dict[str, Any]:
    """Every figure of one run, as plain JSON values."""
    changes = run.changes
    executors = [t for t in changes if t.before.settings.executors != t.after.settings.executors]
    violating = violating_seconds(run)
    warm = [t for t in violating if t >= int(run.scenario.warmup_s)]
    steps_s = _load_steps(run)
    settle = [_settle(run, a, b) for a, b in steps_s]
    detect = [_detect(run, a, b) for a, b in steps_s]
    recover = [_recover(run, violating, a, b) for a, b in steps_s]
    hours, oracle, oracle_full = _core_hours(run)
    busy_s = sum(b.end_s - b.start_s for b in run.batches)
    visited = [t.after.settings.executors for t in changes] or [run.final.executors]
    return {
        "scenario": run.scenario.name,
        "seed": run.seed,
        "steps": len(executors),
        "reconfigurations": len(changes),
        "final": run.final.numbers(),
        "exact": exact(run),
        "overshoot": round(max(visited) / run.final.executors - 1, 3),
        "detect_s": detect if steps_s else None,
        "config_settle_s": settle if steps_s else None,
        "recover_s": recover if steps_s else None,
        "slo_violation_s": len(warm),
        "lag_area": round(_lag_area(run)),
        "core_hours": round(hours, 4),
        "oracle_core_hours": round(oracle, 4),
        "oracle_h1_core_hours": round(oracle_full, 4),
        "batches": len(run.batches),
        "driver_busy": round(busy_s / run.scenario.duration, 3),
        "reversals": _reversals(run),
        "decision_ms": round(statistics.median(t.wall_ms for t in run.ticks), 3),
        "verdicts": verdicts(run),
    }


def sustainable(scenario: Scenario, settings: Settings) -> float:
    """s(p, T) of the true plant: the highest rate whose batch fits in its trigger, records/s.

    With the latency profile, in the time to which batches may stretch.
    """
    within_s = scenario.policy().pace_s(settings.trigger_s) or LONG_S

    def fits(rate: float) -> bool:
        spent = batch_phases(
            scenario,
            settings,
            rate * within_s,
            scenario.slots(settings),
            partitions=settings.topic_partitions or 0,
        )
        return spent.total <= within_s

    low, high = 0.0, 1.0
    while fits(high) and high < 1e12:
        low, high = high, 2 * high
    while high - low > 1e-9 * high and high > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def capacities(scenario: Scenario, counts: Iterable[int], settings: Settings) -> dict[int, float]:
    """s(p, T) of each executor count with the other settings as given, in records/s."""
    return {p: sustainable(scenario, replace(settings, executors=p)) for p in counts}


def allowed(run: Run, load: float, settings: Settings) -> list[int]:
    """A: the executor counts that the bounds allow at a load with the other settings as given."""
    policy = run.scenario.policy()
    fewest, most = policy.min_executors, policy.max_executors
    rates = capacities(run.scenario, range(fewest, most + 1), settings)
    return [
        p
        for p, rate in rates.items()
        if load <= policy.higher * rate and (p == fewest or load > policy.lower * rates[p - 1])
    ]


def exact(run: Run, at_s: float | None = None) -> bool:
    """Whether the executors are in A, or the run is Saturated at the maximum if A is empty.

    Judged at a time, by default the end.
    """
    at_s = run.scenario.duration if at_s is None else at_s
    last = next(t for t in reversed(run.ticks) if t.at_s <= at_s)
    settings = last.after.settings
    ok = allowed(run, _demand(run, at_s - 1e-6), settings)
    if ok:
        return settings.executors in ok
    said = last.decision.reason in {Reason.SATURATED, Reason.GOAL_INFEASIBLE}
    return said and settings.executors == run.scenario.policy().max_executors


def _demand(run: Run, at_s: float) -> float:
    """Records/s to carry, without noise and backlog; at most what a rate goal asks for."""
    rate, load = run.scenario.policy().rate, run.arrivals.plain_rate(at_s)
    return load if rate is None else min(load, rate)


def violating_seconds(run: Run) -> list[int]:
    """Seconds in which the goal is violated, including the warm-up, but only with arrivals."""
    scenario, policy = run.scenario, run.scenario.policy()
    last = int(scenario.duration)
    if policy.target_s is None:
        return _rate_violations(run)
    violating, batches, index = [], run.batches, 0
    for t in range(last):
        record = run.arrivals.total(t + 1)
        if record <= run.arrivals.total(t):
            continue
        while index < len(batches) and batches[index].last < record:
            index += 1
        if index == len(batches):
            if scenario.duration - t > policy.target_s:
                violating.append(t)
            continue
        batch = batches[index]
        oldest = batch.last - policy.quantile * batch.records
        if batch.end_s - run.arrivals.time_of(oldest) > policy.target_s:
            violating.append(t)
    return violating


def _rate_violations(run: Run) -> list[int]:
    """Seconds with a backlog that is too large and has grown within a minute."""
    starts_s = [b.start_s for b in run.batches]
    taken = [0.0, *(b.last for b in run.batches)]

    def backlog(at_s: float) -> float:
        return max(0.0, run.arrivals.total(at_s) - taken[bisect.bisect_right(starts_s, at_s)])

    allowed_s = max(2 * run.scenario.start.trigger, 10)
    return [
        t
        for t in range(int(run.scenario.duration))
        if backlog(t) > run.arrivals.rate(t) * allowed_s and backlog(t) > backlog(max(0, t - 60))
    ]


def _lag_area(run: Run) -> float:
    area, taken, index = 0.0, 0.0, 0
    for t in range(int(run.scenario.warmup_s), int(run.scenario.duration)):
        while index < len(run.batches) and run.batches[index].start_s <= t:
            taken = run.batches[index].last
            index += 1
        backlog = max(0.0, run.arrivals.total(t) - taken)
        area += max(0.0, backlog - run.arrivals.rate(t) * run.scenario.start.trigger)
    return area


def _load_steps(run: Run) -> list[tuple[float, float]]:
    """Start and end of each step of a stepped load; empty for other loads."""
    steps = run.scenario.load.step
    if not steps:
        return []
    starts = [float(at) for at, _ in steps]
    return list(zip(starts, [*starts[1:], run.scenario.duration], strict=True))


def _detect(run: Run, start_s: float, end_s: float) -> float | None:
    return next((t.at_s - start_s for t in run.changes if start_s <= t.at_s < end_s), None)


def _settle(run: Run, start_s: float, end_s: float) -> float | None:
    times = [t.at_s - start_s for t in run.changes if start_s <= t.at_s < end_s]
    return times[-1] if times else None


def _recover(run: Run, violating: list[int], start_s: float, end_s: float) -> float | None:
    inside = [t for t in violating if start_s <= t < end_s]
    if not inside:
        return 0.0
    lasts = end_s == run.scenario.duration and inside[-1] >= end_s - TAIL_S
    return None if lasts else inside[-1] + 1 - start_s


def _core_hours(run: Run) -> tuple[float, float, float]:
    """Requested executors and the two oracles, in core-hours.

    The oracles have the settings of the start: a run that lengthens its trigger is not judged by a
    cheaper one.
    """
    changes = iter(_requested(run))
    upcoming = next(changes, None)
    settings = run.scenario.settings()
    spent = oracle = oracle_full = 0.0
    policy = run.scenario.policy()
    counts = range(policy.min_executors, policy.max_executors + 1)
    rates = capacities(run.scenario, counts, run.scenario.settings())
    cores = run.scenario.start.cores
    for t in range(int(run.scenario.warmup_s), int(run.scenario.duration)):
        while upcoming and upcoming[0] <= t:
            settings, upcoming = upcoming[1], next(changes, None)
        load = min(run.arrivals.rate(t), policy.rate or math.inf)
        spent += run.scenario.slots(settings)
        oracle += cores * least(rates, load, policy.higher)
        oracle_full += cores * least(rates, load, 1.0)
    return spent / 3600, oracle / 3600, oracle_full / 3600


def _requested(run: Run) -> list[tuple[float, Settings]]:
    """The settings over time, with the executors that the driver asked for by itself."""
    settings, found = run.scenario.settings(), []
    by_law = ((t.at_s, t.after.settings) for t in run.changes)
    events: list[tuple[float, Settings | int]] = [*run.raises, *by_law]
    for at_s, what in sorted(events, key=lambda event: event[0]):
        settings = replace(settings, executors=what) if isinstance(what, int) else what
        found.append((at_s, settings))
    return found


def least(rates: Mapping[int, float], load: float, share: float) -> int:
    """The fewest executors that carry the load at a share of their capacity, else the most."""
    return next((p for p, rate in rates.items() if load <= share * rate), max(rates))


def _reversals(run: Run) -> int:
    """Sign changes of executor changes while the load changed by less than 10 %."""
    count, last_sign, last_load = 0, 0, 0.0
    for tick in run.changes:
        step = tick.after.settings.executors - tick.before.settings.executors
        if not step:
            continue
        sign, load = (1 if step > 0 else -1), run.arrivals.plain_rate(tick.at_s)
        unchanged = abs(load - last_load) < 0.1 * max(load, last_load, 1e-9)
        count += sign == -last_sign and unchanged
        last_sign, last_load = sign, load
    return count

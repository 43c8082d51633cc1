"""The HPA's replica calculator and scaling rules against Kubernetes' own tests (v1.35.4)."""

from __future__ import annotations

import itertools

import pytest
from bench.peers.controller import Limits
from bench.peers.hpa import (
    DEFAULT_BEHAVIOUR,
    Autoscaler,
    Behaviour,
    Parameters,
    Policy,
    Rules,
    Unit,
    average_value_replicas,
    utilisation_replicas,
)
from bench.peers.hpa_cpu import HpaCpu
from bench.peers.hpa_cpu import Parameters as CpuParameters
from tests.unit.bench.seen import settings, signals

UTILISATION = {
    "ScaleUp": (3, [300, 500, 700], 30, 0, 0, 5),
    "ScaleUpUnreadyLessScale": (3, [500, 700], 30, 1, 0, 4),
    "ScaleUpUnreadyNoScale": (3, [400], 30, 2, 0, 3),
    "ScaleUpIgnoresFailedPods": (2, [500, 700], 30, 0, 0, 4),
    "ScaleDown": (5, [100, 300, 500, 250, 250], 50, 0, 0, 3),
    "ScaleDownExcludeUnreadyPods": (5, [100, 300, 500], 50, 2, 0, 2),
    "Tolerance": (3, [1010, 1030, 1020], 100, 0, 0, 3),
    "SuperfluousMetrics": (4, [4000, 9500, 3000, 7000], 100, 0, 0, 24),
    "MissingMetrics": (4, [400, 95], 100, 0, 2, 3),
    "whole percent: 99 of 90, not 99.9": (3, [999, 999, 999], 90, 0, 0, 3),
    "MissingMetricsNoChangeEq": (2, [1000], 100, 0, 1, 2),
}


@pytest.mark.parametrize(
    ("current", "ready", "target", "unready", "missing", "expected"),
    UTILISATION.values(),
    ids=list(UTILISATION),
)
def test_resource_utilisation(
    current: int, ready: list[int], target: int, unready: int, missing: int, expected: int
) -> None:
    replicas = utilisation_replicas(current, ready, target, unready=unready, missing=missing)
    assert replicas == expected


EXTERNAL = {
    "ScaleUpPerPodCMExternal": (3, 8600, 2150, 4),
    "ScaleDownPerPodCMExternal": (5, 8600, 2867, 3),
    "TolerancePerPodCMExternal": (3, 8600, 2900, 3),
    "ScaleUpCMPerPodObject": (3, 20000, 5000, 4),
    "TolerancePerPodCMObject": (4, 20166, 5000, 4),
}


@pytest.mark.parametrize(
    ("current", "usage", "target", "expected"), EXTERNAL.values(), ids=list(EXTERNAL)
)
def test_external_metric_for_each_pod(
    current: int, usage: float, target: float, expected: int
) -> None:
    assert average_value_replicas(current, usage, target) == expected


def rules(pods: int, percent: int, period_s: float = 60, window_s: float = 0) -> Rules:
    policies = [(Unit.PODS, pods), (Unit.PERCENT, percent)]
    return Rules(tuple(Policy(u, n, period_s) for u, n in policies if n), window_s)


EVENTS = [(-100.0, 1), (-60.0, 5), (-20.0, 9)]
SCALING = {
    "within range": (5, 7, Limits(3, 8), None, [], 7),
    "too few": (3, 1, Limits(2, 8), None, [], 2),
    "too many": (20, 1000, Limits(1, 10), None, [], 10),
    "without behavior": (3, 1000, Limits(1, 2000), None, [], 6),
    "default behavior": (10, 50, Limits(1, 1000), DEFAULT_BEHAVIOUR, [], 20),
    "up: pods larger": (10, 500, Limits(1, 1000), rules(100, 100), [], 110),
    "up: percent larger": (10, 500, Limits(1, 1000), rules(2, 100), [], 20),
    "up: 1 %": (3, 1000, Limits(1, 2000), rules(0, 1), [], 4),
    "up: percent": (10, 50, Limits(1, 1000), rules(0, 200), [], 30),
    "up: after events, pods": (100, 500, Limits(1, 1000), rules(150, 0, 120), EVENTS, 235),
    "up: after events, percent": (100, 500, Limits(1, 1000), rules(0, 200, 120), EVENTS, 255),
    "up: after events, no more": (100, 500, Limits(1, 1000), rules(5, 0, 120), EVENTS, 100),
    "down: pods larger": (100, 2, Limits(1, 1000), rules(20, 1, 60, 300), [], 80),
    "down: percent": (10, 5, Limits(1, 1000), rules(0, 50, 60, 300), [], 5),
    "down: pods": (1000, 3, Limits(3, 2000), rules(20, 0), [], 980),
    "down: to the minimum": (10, 2, Limits(5, 1000), rules(0, 100, 60, 300), [], 5),
}


@pytest.mark.parametrize(
    ("current", "desired", "limits", "given", "events", "expected"),
    SCALING.values(),
    ids=list(SCALING),
)
def test_scaling_with_rules(
    current: int, desired: int, limits: Limits, given: Rules | Behaviour | None,
    events: list[tuple[float, int]], expected: int,
) -> None:  # fmt: skip
    behaviour = Behaviour(given, given) if isinstance(given, Rules) else given
    scaler = Autoscaler(limits, Parameters(behaviour=behaviour), changed=list(events))
    assert scaler.settle(0.0, current, desired) == expected


STABILISED = {
    "empty log": ([], 5, 5),
    "stabilize": ([(-120.0, 4), (-60.0, 5)], 3, 5),
    "no stabilize": ([(-120.0, 1), (-60.0, 2)], 3, 3),
    "old recommendations": ([(-600.0, 10), (-540.0, 9)], 3, 3),
    "old and new": ([(-600.0, 10), (-60.0, 4), (-120.0, 5), (-540.0, 9)], 3, 5),
}


@pytest.mark.parametrize(("log", "desired", "expected"), STABILISED.values(), ids=list(STABILISED))
def test_downscale_stabilisation(log: list[tuple[float, int]], desired: int, expected: int) -> None:
    scaler = Autoscaler(Limits(1, 100), Parameters(), recommended=log)
    assert scaler.settle(0.0, 100, desired) == expected


WINDOWS = {
    # log, current, desired, window up, window down -> stabilised
    "empty, down": ([], 100, 5, 0, 0, 5),
    "simple down": ([(-120.0, 4), (-60.0, 5)], 100, 3, 0, 180, 5),
    "simple up": ([(-120.0, 4), (-60.0, 5)], 1, 7, 300, 0, 4),
    "no down": ([(-120.0, 1), (-60.0, 2)], 100, 3, 300, 0, 3),
    "no up": ([(-120.0, 4), (-60.0, 5)], 1, 3, 0, 300, 3),
    "old, down": ([(-600.0, 10), (-540.0, 9)], 100, 3, 0, 0, 3),
    "old, up": ([(-600.0, 10), (-540.0, 9)], 1, 100, 0, 0, 100),
    "one old, down": ([(-600.0, 10), (-60.0, 4), (-120.0, 5), (-540.0, 9)], 100, 3, 0, 180, 5),
    "one old, up": ([(-6000.0, 10), (-60.0, 6), (-120.0, 5), (-180.0, 9)], 1, 100, 300, 0, 5),
    "both, no up": ([(-6000.0, 2), (-180.0, 3)], 2, 1, 300, 300, 2),
}


@pytest.mark.parametrize(
    ("log", "current", "desired", "up_s", "down_s", "expected"),
    WINDOWS.values(),
    ids=list(WINDOWS),
)
def test_stabilisation_with_behaviour(
    log: list[tuple[float, int]], current: int, desired: int, up_s: float, down_s: float,
    expected: int,
) -> None:  # fmt: skip
    free = Behaviour(rules(1000, 0, window_s=up_s), rules(1000, 0, window_s=down_s))
    scaler = Autoscaler(Limits(1, 1000), Parameters(behaviour=free), recommended=log)
    assert scaler.settle(0.0, current, desired) == expected


def test_a_policy_counts_what_its_period_has_already_added() -> None:
    scaler = Autoscaler(Limits(1, 100), Parameters(behaviour=DEFAULT_BEHAVIOUR))
    assert scaler.settle(0.0, 3, 100) == 7
    assert scaler.settle(5.0, 7, 100) == 7
    assert scaler.settle(20.0, 7, 100) == 14


def test_on_cpu_it_raises_at_once_and_lowers_after_five_minutes() -> None:
    peer, executors, seen = HpaCpu(Limits(1, 20), CpuParameters()), 2, []
    for now_s in range(15, 480, 15):
        busy = 1.0 if now_s < 60 else 0.1
        at = signals(now_s, slots_busy=busy, cpu_ratio=1.0, executors_running=executors)
        executors = peer.decide(now_s, at, settings(executors)).executors
        seen.append(executors)
    assert seen[:3] == [3, 4, 5]
    lowered = next(i for i, (a, b) in enumerate(itertools.pairwise(seen)) if b < a)
    assert 15 * (lowered + 2) == 345

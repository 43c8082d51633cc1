"""The law of the Flink autoscaler as pure functions, for its test vectors and to check its engine.

Source: apache/flink-kubernetes-operator at 6e9caeb (2026-07-20), JobVertexScaler.java,
ScalingMetricEvaluator.java, utils/AutoScalerUtils.java and config/AutoScalerOptions.java of
flink-autoscaler; Apache-2.0. Alignment is that of EVENLY_SPREAD, its historical mode. The metric
windows, the delayed scale-down and the observed-scalability fit are left out: the opponent is the
real engine, in `flink_engine.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameters:
    """Defaults of AutoScalerOptions."""

    utilisation: float = 0.7
    boundary: float = 0.3
    catch_up_s: float = 1800
    restart_s: float = 300
    max_scale_down: float = 0.6
    max_scale_up: float = 100_000
    min_parallelism: int = 1
    max_parallelism: int = 200


def target_capacity(
    parameters: Parameters,
    *,
    input_rate: float,
    catch_up_rate: float = 0,
    utilisation: float | None = None,
    with_restart: bool = True,
) -> float:
    """Records/s that a vertex must be able to process: input at utilisation, lag and restart."""
    asked = parameters.utilisation if utilisation is None else utilisation
    share = min(max(asked, 0.0), 1.0)
    if share == 0:
        return math.inf
    restart = 0.0
    if with_restart and parameters.catch_up_s:
        restart = input_rate * parameters.restart_s / parameters.catch_up_s
    return float(math.floor(catch_up_rate + restart + input_rate / share + 0.5))


def scale(current: int, factor: float, *, least: int, most: int, groups: int = 0) -> int:
    """Parallelism times the factor, rounded up, within bounds, aligned to `groups` if not 0."""
    bound = min(most, groups) if groups else most
    target = min(max(least, math.ceil(min(factor * current, 2**31 - 1))), bound)
    return aligned(current, target, groups, least, bound) if groups else target


def aligned(current: int, target: int, groups: int, least: int, most: int) -> int:
    """The parallelism near the target that divides the key groups or partitions evenly.

    Searches upward first, but when scaling down never past the current one; then downward to where
    each instance has more groups. Returns the current one if the direction would reverse.
    """
    up = target > current
    for p in range(target, (most if up else min(current, most)) + 1):
        if groups % p == 0:
            return p
    p = next((p for p in range(target, 0, -1) if groups // p > groups // target), 0)
    if p and groups % p:
        p += 1
    p = max(p, least)
    return p if (p > current) is up and p != current else current


def parallelism(
    parameters: Parameters,
    *,
    current: int,
    input_rate: float,
    true_rate: float,
    catch_up_rate: float = 0,
    groups: int = 0,
) -> int:
    """The parallelism for a target rate and the vertex' current true rate, records/s."""
    wanted = target_capacity(parameters, input_rate=input_rate, catch_up_rate=catch_up_rate)
    factor = wanted / true_rate
    factor = min(max(factor, 1 - parameters.max_scale_down), 1 + parameters.max_scale_up)
    return scale(
        current,
        factor,
        least=min(current, parameters.min_parallelism),
        most=max(current, parameters.max_parallelism),
        groups=groups,
    )


def outside_bounds(
    parameters: Parameters,
    *,
    input_rate: float,
    true_rate: float,
    catch_up_rate: float = 0,
    backlog: bool = False,
) -> bool:
    """Whether the utilisation has left its band, which is open while a backlog is drained."""
    upper = 1.0 if backlog else parameters.utilisation + parameters.boundary
    lower = 0.0 if backlog else parameters.utilisation - parameters.boundary
    too_slow = target_capacity(
        parameters,
        input_rate=input_rate,
        catch_up_rate=catch_up_rate,
        utilisation=upper,
        with_restart=False,
    )
    too_fast = target_capacity(
        parameters, input_rate=input_rate, catch_up_rate=catch_up_rate, utilisation=lower
    )
    return true_rate < too_slow or true_rate > too_fast

"""Fits the plant's parameters to measured batches, by least squares of the relative error.

A batch of n records on p executors takes `fixed_s + per_task_s·tasks/p + waves(p)·n/cap(p)`,
which is linear in the costs and in 1/cap(p) of each executor count that was measured.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bench.simreal.seen import Batch, Measured
from bench.simreal.settings import PARTITIONS, Setting

from trimtab.simulation.scenario import Scenario

Matrix = np.ndarray[Any, np.dtype[np.float64]]
MOST_EXECUTORS = 5
MOST_MEMORY = 0.95
"""A plant's noise forgets."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The fitted parameters of the plant."""

    fixed_s: float
    per_task_s: float
    capacity: dict[int, float]
    """Records/s by number of executors, in whole waves of tasks."""
    noise: float
    """Standard deviation of a batch's duration around the fit, as a share of it."""
    noise_memory: float = 0.0
    """Correlation of that deviation with the batch before's."""
    restart_s: float | None = None
    """Seconds of a restart of the query; None where none was measured."""
    restart_noise: float = 0.0
    """Standard deviation of that time, as a share of it."""


def waves(executors: int) -> float:
    """How much longer the work takes because tasks are indivisible: the plant's `waves`."""
    return math.ceil(PARTITIONS / executors) * executors / PARTITIONS


def fit(measured: Sequence[Measured], restarts_s: Sequence[float] = ()) -> Fitted:
    """The best fit; each setting has the same weight, however many batches it has.

    `restarts_s` are the seconds that restarts of the query took.

    Raises:
        ValueError: the settings do not determine the parameters.
    """
    counts = sorted({m.setting.executors for m in measured})
    rows, sizes = [], []
    for seen in measured:
        rows += [_row(batch, seen.setting.executors, counts) for batch in seen.batches]
        sizes += [len(seen.batches)] * len(seen.batches)
    design, weights = np.array(rows), 1 / np.sqrt(np.array(sizes, dtype=float))
    solution = _not_negative(design * weights[:, None], weights)
    fixed_s, per_task_s, *inverse = (float(x) for x in solution)
    if min(inverse) <= 0:
        raise ValueError(f"{len(rows)} batches determine no capacity: {solution}")
    errors = design @ solution - 1
    noise = math.sqrt(float(np.average(errors**2, weights=weights**2)))
    capacity = {p: round(1 / x, 1) for p, x in zip(counts, inverse, strict=True)}
    ids = [batch.id for seen in measured for batch in seen.batches]
    restart_s = round(statistics.fmean(restarts_s), 2) if restarts_s else None
    return Fitted(
        round(fixed_s, 4), round(per_task_s, 4), capacity, round(noise, 4),
        round(_memory(ids, errors), 2), restart_s, round(_spread(restarts_s), 2),
    )  # fmt: skip


def _memory(ids: Sequence[int], errors: Matrix) -> float:
    """The correlation of the errors of batches that follow each other; not below 0."""
    pairs = [(a, b) for a, b in itertools.pairwise(range(len(ids))) if ids[b] == ids[a] + 1]
    first, second = (np.array([errors[pair[i]] for pair in pairs]) for i in (0, 1))
    size = float(np.sqrt(np.sum(first**2) * np.sum(second**2)))
    return max(0.0, float(np.sum(first * second)) / size) if size else 0.0


def _spread(values: Sequence[float]) -> float:
    """The standard deviation as a share of the mean; 0 for fewer than two."""
    return statistics.stdev(values) / statistics.fmean(values) if len(values) > 1 else 0.0


def _row(batch: Batch, executors: int, counts: Sequence[int]) -> list[float]:
    """Coefficients of the parameters, divided by the duration: the right-hand side is 1."""
    work = [waves(p) * batch.records if p == executors else 0.0 for p in counts]
    return [x / batch.duration_s for x in (1.0, PARTITIONS / executors, *work)]


def _not_negative(design: Matrix, right: Matrix) -> Matrix:
    """Least squares without negative parameters: the best of all choices of non-zero ones."""
    width, best, least = design.shape[1], None, math.inf
    choices = itertools.chain.from_iterable(
        itertools.combinations(range(width), size) for size in range(1, width + 1)
    )
    for chosen in map(list, choices):
        part, _, rank, _ = np.linalg.lstsq(design[:, chosen], right)
        solution = np.zeros(width)
        solution[chosen] = part
        error = float(np.sum((design @ solution - right) ** 2))
        if rank == len(chosen) and part.min() >= 0 and error < least:
            best, least = solution, error
    if best is None:
        raise ValueError("the settings do not determine the parameters")
    return best


def scenario(fitted: Fitted, setting: Setting, duration_s: float, backlog: float = 0) -> Scenario:
    """The fitted plant under one setting: the same settings and load, and an initial backlog."""
    restart = {"query_restart_s": fitted.restart_s, "restart_noise": fitted.restart_noise}
    if fitted.restart_s is None:
        restart = {}
    return Scenario.model_validate({
        "name": f"simreal-{setting.name}", "duration": duration_s, "partitions": PARTITIONS,
        "load": {"step": [[0, setting.load]]},
        "plant": {
            "capacity": fitted.capacity, "waves": True,
            "batch": {
                "fixed_s": fitted.fixed_s, "per_task_s": fitted.per_task_s, "noise": fitted.noise,
                "noise_memory": min(fitted.noise_memory, MOST_MEMORY),
            },
            "change": restart,
        },
        "goal": {"latency": {"percentile": 95, "target": 15}},
        "limits": {"executors": {"min": 1, "max": MOST_EXECUTORS}},
        "start": {
            "executors": setting.executors, "trigger": setting.trigger_s,
            "maxOffsetsPerTrigger": setting.max_offsets, "backlog": backlog,
        },
    })  # fmt: skip

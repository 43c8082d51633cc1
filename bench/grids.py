"""The tuning grid of each controller: the same number of variants for all, including ours.

The first variant of each grid has the authors' defaults. The names are those of `--set`. The two
controllers that know the plant have nothing to tune.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from bench.control import DIRECT, DIRECT_S, NAMES, OURS

from trimtab.api.v1alpha1.tuning import Profile

BUDGET = 16
"""Variants of each controller."""

WEIGHT = 10
"""The weight of the violating share of the time against core-hours: 1 % costs 0.1 oracle."""

CHANGE = 0.001
"""The cost of one change each hour, against the oracle's core-hours: a new executor starts for
seconds in which it carries nothing, and the batch that runs is disturbed."""

Given = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Variant:
    """A controller with parameters, and its name in tables."""

    label: str
    name: str
    given: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> str:
        """Its parameters as arguments of --set."""
        return " ".join(f"{name}={value}" for name, value in self.given) or "as shipped"


def cost(
    core_hours: float, least_core_hours: float, violating_share: float, changes_per_hour: float
) -> float:
    """The score of the tuning, less is better: core-hours over the oracle's at load 1.0, plus
    `WEIGHT` times the share of the counted seconds that violate the goal, plus `CHANGE` for each
    change an hour."""
    spent = core_hours / least_core_hours
    return spent + WEIGHT * violating_share + CHANGE * changes_per_hour


def grid(**choices: Iterable[object]) -> tuple[Given, ...]:
    """The shipped defaults, then every combination of the choices."""
    names = list(choices)
    rows = product(*choices.values())
    return ({}, *({n: str(v) for n, v in zip(names, row, strict=True)} for row in rows))


def _flink() -> tuple[Given, ...]:
    """Varies short windows, and a restart that takes as long as a change of the plant."""
    base = {"restart_time_s": "5", "metrics_window_s": "10", "stabilization_interval_s": "0"}
    longer = {**base, "metrics_window_s": "30", "stabilization_interval_s": "10"}
    names = (
        "target_utilization", "target_utilization_boundary", "scale_down_interval_s",
        "catch_up_duration_s", "partitions_known",
    )  # fmt: skip
    rows = (
        (base, 0.8, 0.3, 60, 300), (base, 0.9, 0.3, 60, 300), (base, 0.95, 0.3, 60, 300),
        (base, 0.8, 0.2, 60, 300), (base, 0.9, 0.2, 60, 300),
        (base, 0.8, 0.1, 60, 300), (base, 0.9, 0.1, 60, 300),
        (base, 0.8, 0.2, 30, 300), (base, 0.9, 0.2, 30, 300),
        (base, 0.8, 0.2, 60, 60), (base, 0.9, 0.2, 60, 60),
        (longer, 0.7, 0.3, 60, 300), (longer, 0.8, 0.2, 60, 300),
    )  # fmt: skip
    aligned = ((base, 0.8, 0.2, 60, 300, "true"), (base, 0.9, 0.2, 60, 300, "true"))
    return ({}, *(
        {**windows, **dict(zip(names, map(str, values), strict=True))}
        for windows, *values in (*((*row, "false") for row in rows), *aligned)
    ))  # fmt: skip


def _ours() -> tuple[Given, ...]:
    """Varies both bounds, both dwells and the time to catch up."""
    names = ("up", "higher", "lower", "down", "catch_up")
    rows = (
        (1, 0.8, 0.7, 3, 60), (1, 0.8, 0.7, 3, 120),
        (1, 0.85, 0.7, 3, 60), (1, 0.85, 0.75, 3, 60), (1, 0.85, 0.75, 2, 60),
        (1, 0.85, 0.75, 3, 120), (1, 0.9, 0.75, 3, 60),
        (1, 0.9, 0.8, 3, 60), (1, 0.9, 0.8, 2, 60), (1, 0.9, 0.8, 3, 120), (1, 0.9, 0.8, 3, 30),
        (1, 0.95, 0.8, 3, 60), (1, 0.95, 0.85, 3, 60), (1, 0.95, 0.85, 2, 60),
        (2, 0.9, 0.8, 3, 60),
    )  # fmt: skip
    return ({}, *(dict(zip(names, map(str, row), strict=True)) for row in rows))


GRIDS: dict[str, tuple[Given, ...]] = {
    OURS: _ours(),
    "flink": _flink(),
    "ds2": grid(
        policy_interval_s=[10], warm_up_intervals=[1, 2, 3],
        scaling_factor=[0.1, 0.15, 0.2, 0.25, 0.3],
    ),
    "dhalion": (
        *grid(cooldown_s=[10, 15], lag_rate_threshold=[5, 10, 20], scale_down_factor=[0.95, 0.97]),
        *grid(cooldown_s=[15], lag_rate_threshold=[10], scale_down_factor=[0.95],
              lag_close_to_zero=[2500, 5000, 7500])[1:],
    ),
    "keda": grid(lag_threshold=[1000, 1400, 2000], stabilisation_s=[0, 15, 30, 60, 300]),
    "hpa-cpu": (
        *grid(target_percent=[80, 85, 88, 90], stabilisation_s=[30, 60, 120]),
        *grid(target_percent=[70, 85, 90], stabilisation_s=[300])[1:],
    ),
    "numaflow": (
        *grid(target_processing_s=[5.5, 6, 6.5], cooldown_up_s=[30], cooldown_down_s=[60, 90],
              replicas_per_scale=[10], lookback_s=[15, 30]),
        *grid(target_processing_s=[6], cooldown_up_s=[15, 30], replicas_per_scale=[26],
              lookback_s=[30])[1:],
        *grid(target_processing_s=[6], cooldown_up_s=[30], replicas_per_scale=[5],
              lookback_s=[30])[1:],
    ),
    "spark": (
        *grid(scaling_interval_s=[10], scaling_up_ratio=[0.85, 0.9, 0.95],
              scaling_down_ratio=[0.45, 0.5, 0.55, 0.6]),
        *grid(scaling_interval_s=[5, 20], scaling_up_ratio=[0.9], scaling_down_ratio=[0.5])[1:],
        *grid(scaling_interval_s=[20], scaling_up_ratio=[0.9], scaling_down_ratio=[0.7])[1:],
    ),
    "spark-pid": (
        *grid(scaling_interval_s=[10], scaling_up_ratio=[0.5, 0.6, 0.7],
              scaling_down_ratio=[0.35, 0.4, 0.45]),
        *grid(scaling_interval_s=[5, 20], scaling_up_ratio=[0.6, 0.7],
              scaling_down_ratio=[0.4])[1:],
        *grid(scaling_interval_s=[10], scaling_up_ratio=[0.65], scaling_down_ratio=[0.35, 0.4])[1:],
    ),
}  # fmt: skip


def shipped(name: str, suffix: str) -> list[Variant]:
    """A controller with its defaults; ours with the sensing that it ships with, in each profile,
    and without that sensing."""
    if name != OURS:
        return [Variant(name + suffix, name)]
    direct = ((DIRECT, f"{DIRECT_S:g}"),)
    others = [
        Variant(f"{name}{suffix}, profile {profile}", name, (*direct, ("profile", profile)))
        for profile in (Profile.LATENCY, Profile.COST)
    ]
    prometheus = Variant(f"{name}{suffix}, from Prometheus", name)
    return [Variant(name + suffix, name, direct), *others, prometheus]


def variants(name: str, budget: int = BUDGET) -> Sequence[Variant]:
    """At most `budget` variants of a controller; one with its defaults if it has no grid."""
    rows: Sequence[Given] = GRIDS.get(name, ({},))[:budget]
    return [Variant(name, name, tuple(row.items())) for row in rows]


def parameters(name: str) -> int:
    """How many parameters a controller's grid varies."""
    rows = GRIDS.get(name, ({},))
    names = {key for row in rows for key in row}
    return sum(len({row.get(key) for row in rows[1:]}) > 1 for key in names)


def absent() -> list[str]:
    """Controllers that have a grid but are not in the catalogue."""
    return [name for name in GRIDS if name not in NAMES]

"""The tuning grid of each controller: the same number of variants for all, including ours.

The first variant of each grid has the authors' defaults. The names are those of `--set`. The two
controllers that know the plant have nothing to tune.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from bench.control import NAMES, OURS

BUDGET = 12
"""Variants of each controller."""

WEIGHT = 10
"""The weight of the violating share of the time against core-hours: 1 % costs 0.1 oracle."""

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


def cost(core_hours: float, least_core_hours: float, violating_share: float) -> float:
    """The score of the tuning, less is better: core-hours over the oracle's at load 1.0, plus
    `WEIGHT` times the share of the counted seconds that violate the goal."""
    return core_hours / least_core_hours + WEIGHT * violating_share


def grid(**choices: Iterable[object]) -> tuple[Given, ...]:
    """The shipped defaults, then every combination of the choices."""
    names = list(choices)
    rows = product(*choices.values())
    return ({}, *({n: str(v) for n, v in zip(names, row, strict=True)} for row in rows))


def _flink() -> tuple[Given, ...]:
    """Varies short windows, and a restart that takes as long as a change of the plant."""
    base = {"restart_time_s": "5", "scale_down_interval_s": "60", "catch_up_duration_s": "300"}
    windows = (
        ("30", "10", ("0.7", "0.8")),
        ("10", "0", ("0.7", "0.8", "0.9")),
        ("20", "10", ("0.8",)),
    )
    rows = [
        {**base, "metrics_window_s": window, "stabilization_interval_s": stable,
         "target_utilization": target, "partitions_known": known}
        for window, stable, targets in windows
        for target in targets
        for known in ("true", "false")
    ]  # fmt: skip
    return ({}, *rows[:11])


GRIDS: dict[str, tuple[Given, ...]] = {
    OURS: (
        *grid(up=[1], lower=[0.6, 0.65, 0.7], down=[3], catch_up=[60, 120]),
        {"up": "1", "catch_up": "60"}, {"lower": "0.7", "down": "3", "catch_up": "60"},
        {"up": "1", "lower": "0.7", "down": "2", "catch_up": "60"},
        {"up": "1", "higher": "0.85", "lower": "0.7", "down": "3", "catch_up": "60"},
        {"up": "1", "higher": "0.85", "lower": "0.75", "down": "3", "catch_up": "60"},
    ),
    "flink": _flink(),
    "ds2": (
        *grid(policy_interval_s=[10], warm_up_intervals=[1, 2, 3], scaling_factor=[0.2, 0.3, 0.4]),
        {"scaling_factor": "0.25"}, {"policy_interval_s": "30", "scaling_factor": "0.3"},
    ),
    "dhalion": (
        *grid(cooldown_s=[15, 30], lag_rate_threshold=[20, 50], scale_down_factor=[0.9, 0.95]),
        *grid(cooldown_s=[30], lag_rate_threshold=[50], scale_down_factor=[0.9],
              lag_close_to_zero=[5000, 15_000, 20_000])[1:],
    ),
    "keda": grid(lag_threshold=[
        400, 700, 1000, 1400, 1700, 2000, 2400, 3000, 4000, 6000, 10_000,
    ]),
    "hpa-cpu": grid(target_percent=[60, 65, 70, 75, 85, 88, 90, 92, 94, 97, 100]),
    "numaflow": (
        *grid(target_processing_s=[3, 5, 6], cooldown_up_s=[30], cooldown_down_s=[30],
              replicas_per_scale=[10, 26], lookback_s=[30]),
        *grid(target_processing_s=[5, 6, 7], cooldown_up_s=[30], replicas_per_scale=[10],
              lookback_s=[30])[1:],
        *grid(target_processing_s=[5, 6], cooldown_up_s=[30], cooldown_down_s=[30],
              replicas_per_scale=[5], lookback_s=[60])[1:],
    ),
    "spark": (
        *grid(scaling_interval_s=[10], scaling_up_ratio=[0.7, 0.8, 0.9],
              scaling_down_ratio=[0.4, 0.5, 0.6]),
        *grid(scaling_interval_s=[10, 20], scaling_up_ratio=[0.9], scaling_down_ratio=[0.7])[1:],
    ),
    "spark-pid": (
        *grid(scaling_interval_s=[10], scaling_up_ratio=[0.6, 0.7, 0.8],
              scaling_down_ratio=[0.3, 0.4, 0.5]),
        *grid(scaling_interval_s=[10], scaling_up_ratio=[0.5], scaling_down_ratio=[0.3, 0.4])[1:],
    ),
}  # fmt: skip


def variants(name: str, budget: int = BUDGET) -> Sequence[Variant]:
    """At most `budget` variants of a controller; one with its defaults if it has no grid."""
    rows: Sequence[Given] = GRIDS.get(name, ({},))[:budget]
    return [Variant(name, name, tuple(row.items())) for row in rows]


def absent() -> list[str]:
    """Controllers that have a grid but are not in the catalogue."""
    return [name for name in GRIDS if name not in NAMES]

"""Best values on the edge of their grid: which ones, and the variants one step beyond."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bench.grids import Variant

ROUNDS, EXTRA = 3, 8
"""How often a grid may grow where its best variant is on an edge, and by how many variants."""

WITHIN: dict[str, tuple[float, float]] = {
    "up": (1, math.inf), "down": (1, math.inf), "higher": (0, 0.99), "lower": (0, 0.98),
    "catch_up": (10, math.inf), "policy_interval_s": (10, math.inf),
    "warm_up_intervals": (1, math.inf), "cooldown_s": (10, math.inf),
    "scale_down_factor": (0, 0.99), "target_percent": (1, 100),
    "target_utilization": (0, 1), "target_utilization_boundary": (0, 1),
    "metrics_window_s": (10, math.inf), "catch_up_duration_s": (10, math.inf),
    "cooldown_up_s": (10, math.inf), "cooldown_down_s": (10, math.inf),
    "lookback_s": (10, math.inf), "replicas_per_scale": (1, 26),
    "scaling_interval_s": (5, math.inf), "scaling_up_ratio": (0, 0.99),
    "scaling_down_ratio": (0, 0.98),
}  # fmt: skip
"""Values that a parameter can have; for all others, nothing below 0. A tick lasts 10 s, and there
are 26 executors."""

GEOMETRIC = 1.5
"""Values that differ by this factor or more have the same factor to the next, others the same
difference."""


def edges(best: Variant, tried: Sequence[Variant]) -> list[str]:
    """The parameters of the best variant that have the least or the greatest value that was tried,
    though there are values beyond."""
    return [name for name, _ in _beyond(best, tried)]


def beyond(best: Variant, tried: Sequence[Variant]) -> list[Variant]:
    """The best variant with each parameter on an edge moved one step outward, if not tried yet."""
    found = []
    for name, value in _beyond(best, tried):
        given = tuple((n, value if n == name else v) for n, v in best.given)
        variant = Variant(best.label, best.name, given)
        if variant not in tried:
            found.append(variant)
    return found


def _beyond(best: Variant, tried: Sequence[Variant]) -> list[tuple[str, str]]:
    found = []
    for name, text in best.given:
        words = {dict(variant.given).get(name, "") for variant in tried}
        values = sorted(float(word) for word in words if _number(word))
        if not _number(text) or len(values) < 2:
            continue
        value = float(text)
        whole = all("." not in word for word in words if _number(word))
        for edge, neighbour in ((values[0], values[1]), (values[-1], values[-2])):
            further = _further(name, edge, neighbour, whole=whole)
            if value == edge and further != edge:
                found.append((name, f"{further:g}"))
    return found


def _further(name: str, edge: float, neighbour: float, *, whole: bool) -> float:
    least, most = WITHIN.get(name, (0, math.inf))
    factor = edge / neighbour if neighbour > 0 else 0.0
    geometric = factor > 0 and max(factor, 1 / factor) >= GEOMETRIC
    further = edge * factor if geometric else 2 * edge - neighbour
    further = round(further) if whole else float(f"{further:.3g}")
    return min(max(further, least), most)


def _number(text: str) -> bool:
    return text not in {"", "true", "false"}

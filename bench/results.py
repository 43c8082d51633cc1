"""The results of a run of the suite, for verdicts, page and JSON."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench.grids import Variant
from bench.runs import Row, Trace
from bench.steps import Case

SHIPPED = " as shipped"
"""Suffix of a controller that runs with its defaults, in addition to its tuned variant."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One variant and its means over the tuning runs."""

    variant: Variant
    cost: float
    ratio: float
    """Core-hours over the oracle's at load 1.0."""
    violating: float
    """Share of the counted seconds."""
    error: str = ""

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "controller": self.variant.name, "parameters": self.variant.words,
            "cost": round(self.cost, 4), "core_hours_over_least": round(self.ratio, 4),
            "violating": round(self.violating, 5), "error": self.error,
        }  # fmt: skip


def cheapest(tried: Iterable[Tried]) -> Variant | None:
    """The variant with the lowest cost; None if all have failed."""
    good = [t for t in tried if not t.error]
    return min(good, key=lambda t: t.cost).variant if good else None


@dataclass(frozen=True, slots=True)
class Curve:
    """One controller on the 14 first visits of T3 at one pair of bounds."""

    label: str
    words: str
    higher: float
    cases: tuple[Case, ...]

    @property
    def mean(self) -> float:
        """Steps over the cases."""
        return statistics.fmean(c.steps for c in self.cases)

    @property
    def most(self) -> int:
        """Steps of the longest case."""
        return max(c.steps for c in self.cases)

    @property
    def count(self) -> int:
        """Cases that end exact, without an excursion."""
        return sum(c.counts for c in self.cases)

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "controller": self.label, "parameters": self.words, "higher": self.higher,
            "mean": round(self.mean, 3), "most": self.most, "count": self.count,
            "paths": [{"load": c.load, "path": [c.start, *c.path]} for c in self.cases],
        }  # fmt: skip


@dataclass(slots=True)
class Results:
    """All results of one run."""

    facts: dict[str, Any]
    tried: list[Tried] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    fronts: dict[str, list[Row]] = field(default_factory=dict)
    """By controller: each of its variants on every workload, on some of the held-out seeds."""
    held_out: list[Row] = field(default_factory=list)
    """The best variants, and what ships, on loads that nobody has tuned for."""
    curves: list[Curve] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """Controllers that did not run, and why."""
    errors: list[str] = field(default_factory=list)
    traces: dict[str, list[Trace]] = field(default_factory=dict)

    @property
    def noises(self) -> list[str]:
        """The noises of the rows."""
        return list(dict.fromkeys(row["noise"] for row in self.rows))

    def under(self, noise: str) -> Results:
        """The part of the results with one noise; the curves of T3 have none and are left out."""

        def of(rows: Sequence[Row]) -> list[Row]:
            return [r for r in rows if r["noise"] == noise]

        fronts = {name: of(rows) for name, rows in self.fronts.items()}
        held_out = of(self.held_out)
        return replace(self, rows=of(self.rows), held_out=held_out, fronts=fronts, curves=[])

    @property
    def fresh(self) -> Results:
        """The held-out loads in place of the workloads."""
        return replace(self, rows=self.held_out)

    @property
    def labels(self) -> list[str]:
        """Controllers with rows, in the order in which they ran."""
        return list(dict.fromkeys(row["label"] for row in self.rows))

    @property
    def workloads(self) -> list[str]:
        """Workloads with rows."""
        return list(dict.fromkeys(row["workload"] for row in self.rows))

    def of(self, label: str, *workloads: str) -> list[Row]:
        """The rows of a controller, by workload and seed; for all workloads if none is named."""
        return [
            r for r in self.rows
            if r["label"] == label and (not workloads or r["workload"] in workloads)
        ]  # fmt: skip

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON; rows are lists under one list of columns, which keeps it small."""
        return {
            "facts": self.facts, "skipped": self.skipped, "errors": self.errors,
            "tuning": [t.plain() for t in self.tried],
            "rows": _columns(self.rows),
            "fronts": {name: _columns(rows, SHORT) for name, rows in self.fronts.items()},
            "held_out": _columns(self.held_out, SHORT),
            "curves": [c.plain() for c in self.curves],
        }  # fmt: skip


SHORT = ("workload", "label", "seed", "noise", "slo_violation_s", "core_hours")
"""The columns that are kept of the rows of whole grids."""


def _columns(rows: Sequence[Row], names: Sequence[str] = ()) -> dict[str, Any]:
    names = names or (list(rows[0]) if rows else [])
    return {"columns": names, "rows": [[row[name] for name in names] for row in rows]}

"""The pictures of the report: predicted over measured, and one setting over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from bench.simreal.fit import Fitted
from bench.simreal.predict import P95_TARGET, RATE_TARGET, Comparison, simulated
from bench.simreal.seen import Batch, Measured
from matplotlib import pyplot as plt

INK, ACCENT, MUTED = "#1f2933", "#0b7285", "#868e96"


def scatter(path: Path, fitted: Sequence[Comparison], predicted: Sequence[Comparison]) -> None:
    """Plot rate and p95, predicted over measured, with the targets as a band."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 5), constrained_layout=True)
    for points, color, label in ((fitted, MUTED, "fitted"), (predicted, ACCENT, "predicted")):
        rates = [(c.seen.rate, c.rate, c.seen.setting.name) for c in points]
        _points(axes[0], rates, color, label)
        latencies = [(c.seen.p95_s, c.p95_s, c.seen.setting.name) for c in points if c.p95_s]
        _points(axes[1], latencies, color, label)
    _finish(axes[0], "records/s processed", RATE_TARGET)
    _finish(axes[1], "p95 of record latency, s (settings that are not saturated)", P95_TARGET)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _points(axis: Any, points: Sequence[tuple[float, float, str]], color: str, label: str) -> None:
    axis.scatter([x for x, _, _ in points], [y for _, y, _ in points], color=color, label=label)
    for x, y, name in points:
        axis.annotate(name, (x, y), (5, -9), textcoords="offset points", fontsize=7, color=INK)


def _finish(axis: Any, title: str, target: float) -> None:
    most = max(axis.get_xlim()[1], axis.get_ylim()[1])
    axis.plot([0, most], [0, most], color=INK, linewidth=0.8)
    axis.fill_between([0, most], [0, most * (1 - target)], [0, most * (1 + target)],
                      color=MUTED, alpha=0.15, label=f"±{target:.0%}")  # fmt: skip
    axis.set(title=title, xlabel="measured", ylabel="simulated", xlim=(0, most), ylim=(0, most))
    axis.legend(loc="upper left", fontsize=8)
    axis.grid(alpha=0.25)


def overlay(path: Path, fitted: Fitted, shown: Sequence[Measured]) -> None:
    """Plot one window each: the batches' p95, or the processed records if it is saturated."""
    figure, axes = plt.subplots(len(shown), 1, figsize=(11, 3 * len(shown)),
                                constrained_layout=True)  # fmt: skip
    for seen, axis in zip(shown, axes, strict=True):
        length_s = seen.batches[-1].committed_s - seen.batches[0].committed_s
        sources = ((seen.batches, INK, "measured", "o"),
                   (simulated(fitted, seen), ACCENT, "simulated", "s"))  # fmt: skip
        for batches, color, label, marker in sources:
            first = batches[0]
            window = [b for b in batches if b.committed_s - first.committed_s <= length_s]
            at = [b.committed_s - first.committed_s for b in window]
            values = [_value(b, first, seen.setting.saturated) for b in window]
            axis.plot(at, values, color=color, label=label, marker=marker, markersize=4)
        what = "records since the first commit" if seen.setting.saturated else "p95 of a batch, s"
        axis.set(title=seen.setting.name, ylabel=what, xlabel="seconds since the first commit")
        axis.set_ylim(bottom=0)
        axis.legend(loc="lower right", fontsize=8)
        axis.grid(alpha=0.25)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _value(batch: Batch, first: Batch, saturated: bool) -> float:
    return batch.total - first.total if saturated else batch.p95_s

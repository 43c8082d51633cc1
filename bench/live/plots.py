"""One picture for each shape: load, latency and executors of every contender."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import itertools

from bench.live.contest import BEST, DEFAULTS, LAG, OURS
from bench.live.points import TARGET_S
from bench.live.shapes import SHAPES, at
from bench.plots import ACCENT, INK, MUTED
from matplotlib import pyplot as plt

Json = dict[str, Any]

COLOURS = {OURS: ACCENT, BEST: INK, DEFAULTS: MUTED, LAG: "#5f3dc4"}


def picture(path: Path, shape: str, runs: Sequence[Json]) -> None:
    """Write the picture of one shape; the scored time begins at second 0."""
    loaded = shape in SHAPES
    figure, axes = plt.subplots(
        3 if loaded else 2, 1, figsize=(11, 9 if loaded else 6), sharex=True,
        constrained_layout=True,
    )  # fmt: skip
    rates, executors = axes[0], axes[-1]
    for run in runs:
        colour, zero_s = COLOURS[run["who"]], run["scored_from_s"]
        executors.step(
            [e[0] - zero_s for e in run["executors"]], [e[1] for e in run["executors"]],
            where="post", color=colour, label=run["who"],
        )  # fmt: skip
        if loaded:
            seconds = [b[0] - zero_s for b in run["batches"]]
            axes[1].plot(seconds, [b[1] for b in run["batches"]], color=colour)
        else:
            _rate(rates, run, colour)
    if loaded:
        _load(rates, shape, runs)
        axes[1].axhline(TARGET_S, color=INK, linestyle=":", linewidth=1)
        axes[1].set_yscale("log")
        axes[1].set_ylabel("p95 of a batch, s")
    rates.set_ylabel("records/s")
    executors.set_ylabel("executors")
    executors.set_xlabel("seconds; the scored time begins at 0")
    for axis in axes:
        axis.grid(alpha=0.25)
    executors.set_ylim(bottom=0)
    executors.legend(loc="lower left", fontsize=8, ncols=4)
    figure.suptitle(f"{shape}: every contender on the same load")
    figure.savefig(path, dpi=75)
    plt.close(figure)


def _load(axis: Any, shape: str, runs: Sequence[Json]) -> None:
    """The load of the scored time, and of trimtab's first round before it."""
    length = int(max(run["seconds"] for run in runs))
    seconds = range(-length, length)
    axis.plot(seconds, [at(SHAPES[shape], s % length) for s in seconds], color=INK)
    axis.set_ylim(bottom=0)


def _rate(axis: Any, run: Json, colour: str) -> None:
    """Records/s from commit to commit."""
    batches = run["batches"]
    points = [
        (later[0] - run["scored_from_s"], later[2] / (later[0] - at_s))
        for (at_s, *_), later in itertools.pairwise(batches)
        if later[0] > at_s
    ]
    axis.plot([p[0] for p in points], [p[1] for p in points], color=colour)

"""One picture for each shape: load, latency and executors of every contender."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import itertools

from bench.live.contest import BEST, DEFAULTS, LAG, OURS, PASSES, PROMPT
from bench.live.points import TARGET_S
from bench.live.shapes import SHAPES, at, seconds
from bench.plots import ACCENT, INK, MUTED
from matplotlib import pyplot as plt

Json = dict[str, Any]

COLOURS = {OURS: ACCENT, PROMPT: "#e8590c", BEST: INK, DEFAULTS: MUTED, LAG: "#5f3dc4"}


def picture(path: Path, shape: str, runs: Sequence[Json]) -> None:
    """Write the picture of one shape: the first run of each contender, from cold."""
    loaded = shape in SHAPES
    figure, axes = plt.subplots(
        3 if loaded else 2, 1, figsize=(11, 9 if loaded else 6), sharex=True,
        constrained_layout=True,
    )  # fmt: skip
    rates, executors = axes[0], axes[-1]
    for run in runs:
        colour = COLOURS[run["who"]]
        executors.step(
            [e[0] for e in run["executors"]], [e[1] for e in run["executors"]],
            where="post", color=colour, label=run["who"],
        )  # fmt: skip
        if loaded:
            ends = [b[0] for b in run["batches"]]
            axes[1].plot(ends, [b[1] for b in run["batches"]], color=colour)
        else:
            _rate(rates, run, colour)
    if loaded:
        _load(rates, shape)
        for axis in axes:
            axis.axvline(seconds(SHAPES[shape]), color=MUTED, linestyle="--", linewidth=1)
        axes[1].axhline(TARGET_S, color=INK, linestyle=":", linewidth=1)
        axes[1].set_yscale("log")
        axes[1].set_ylabel("p95 of a batch, s")
    rates.set_ylabel("records/s")
    executors.set_ylabel("executors")
    since = "the first record; the warm pass begins at the dashed line" if loaded else "readiness"
    executors.set_xlabel(f"seconds since {since}")
    for axis in axes:
        axis.grid(alpha=0.25)
    executors.set_ylim(bottom=0)
    executors.legend(loc="lower left", fontsize=8, ncols=4)
    figure.suptitle(f"{shape}: every contender on the same load")
    figure.savefig(path, dpi=75)
    plt.close(figure)


def _load(axis: Any, shape: str) -> None:
    """The load of all passes."""
    length_s = int(seconds(SHAPES[shape]))
    axis.plot([at(SHAPES[shape], s % length_s) for s in range(PASSES * length_s)], color=INK)
    axis.set_ylim(bottom=0)


def _rate(axis: Any, run: Json, colour: str) -> None:
    """Records/s from commit to commit."""
    batches = run["batches"]
    points = [
        (later[0], later[2] / (later[0] - at_s))
        for (at_s, *_), later in itertools.pairwise(batches)
        if later[0] > at_s
    ]
    axis.plot([p[0] for p in points], [p[1] for p in points], color=colour)

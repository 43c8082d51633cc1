"""One picture for each workload: load and capacity, lag, executors, all controllers overlaid.

Trimtab as shipped, KEDA, Flink and the oracle are in colour, all others in grey.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from bench.control import OURS
from bench.results import SHIPPED
from bench.runs import Row, Trace
from matplotlib import pyplot as plt

INK, ACCENT, MUTED = "#1f2933", "#c92a2a", "#868e96"
OURS_SHIPPED = f"{OURS}{SHIPPED}"
COLOURS = {OURS_SHIPPED: ACCENT, "keda": "#5f3dc4", "flink": "#e8590c", "oracle": INK}
"""In the order of the title and the legend; the oracle knows the load and the capacity."""


def picture(path: Path, workload: str, traces: Sequence[Trace], rows: Sequence[Row]) -> None:
    """Write the picture of one workload; traces are of one seed, rows of all."""
    figure, (rates, lag, executors) = plt.subplots(
        3, 1, figsize=(11, 9), sharex=True, constrained_layout=True
    )
    load = traces[0]
    rates.plot(load.at_s, load.load, color=INK, linewidth=2, label="load", drawstyle="steps-post")
    others = [trace for trace in traces if not trace.label.startswith((*COLOURS, OURS))]
    drawn = {trace.label: trace for trace in traces}
    for trace in others:
        _draw(rates, lag, executors, trace, color=MUTED, linewidth=0.7, alpha=0.45)
    rates.plot([], [], color=MUTED, linewidth=0.7, label="the other controllers")
    for label in reversed(COLOURS):
        if label in drawn:
            width, line = (2.2, "-") if label == OURS_SHIPPED else (1.2, "-")
            line = "--" if label == "oracle" else line
            style = {"color": COLOURS[label], "linewidth": width, "linestyle": line}
            _draw(rates, lag, executors, drawn[label], label=label, **style)
    lag.set_yscale("symlog", linthresh=1000)
    rates.set_ylabel("load and capacity, records/s")
    lag.set_ylabel("lag, records")
    executors.set_ylabel("executors requested")
    executors.set_xlabel("seconds, one seed; all of it is scored")
    for axis in (rates, lag, executors):
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.25)
    rates.legend(loc="upper left", fontsize=8, ncols=3)
    figure.suptitle(title(workload, rows), fontsize=11)
    figure.savefig(path, dpi=75)
    plt.close(figure)


def title(workload: str, rows: Sequence[Row]) -> str:
    """The result, over all seeds: for how long the goal was missed, and what that cost."""
    found = []
    for label in COLOURS:
        own = [row for row in rows if (row["workload"], row["label"]) == (workload, label)]
        if own:
            late_s = statistics.fmean(row["slo_violation_s"] for row in own)
            cost = statistics.fmean(r["core_hours"] / r["oracle_h1_core_hours"] for r in own)
            found.append(f"{label} {late_s:.0f} s at {cost:.2f}")
    means = "seconds above the goal at core-hours / least: "
    return f"{workload}\n{means}{', '.join(found)}" if found else workload


def _draw(
    rates: plt.Axes, lag: plt.Axes, executors: plt.Axes, trace: Trace, **style: object
) -> None:
    rates.plot(trace.at_s, trace.capacity, drawstyle="steps-post", **style)
    style.pop("label", None)
    lag.plot(trace.at_s, trace.lag, **style)
    executors.plot(trace.at_s, trace.executors, drawstyle="steps-post", **style)

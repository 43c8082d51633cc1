"""One picture for each workload: load and capacity, lag, executors, all controllers overlaid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from bench.control import OURS
from bench.runs import Trace
from matplotlib import pyplot as plt

INK, ACCENT, MUTED = "#1f2933", "#c92a2a", "#868e96"
LINES = {
    "flink": "#e8590c", "ds2": "#0b7285", "dhalion": "#a61e4d", "keda": "#5f3dc4",
    "hpa-cpu": "#2b8a3e", "numaflow": "#1971c2", "spark": "#f08c00", "spark-pid": "#94d82d",
}  # fmt: skip
DASHED = {"oracle": INK, "static-peak": MUTED}


def picture(path: Path, workload: str, traces: Sequence[Trace]) -> None:
    """Write the picture of one workload; the traces are of one seed."""
    figure, (rates, lag, executors) = plt.subplots(
        3, 1, figsize=(11, 9), sharex=True, constrained_layout=True
    )
    load = traces[0]
    rates.plot(load.at_s, load.load, color=INK, linewidth=2, label="load", drawstyle="steps-post")
    for trace in sorted(traces, key=lambda t: t.label == OURS):
        style = _style(trace.label)
        if style is None:
            continue
        rates.plot(trace.at_s, trace.capacity, drawstyle="steps-post", **style)
        lag.plot(trace.at_s, trace.lag, **style)
        executors.plot(trace.at_s, trace.executors, drawstyle="steps-post", **style)
    lag.set_yscale("symlog", linthresh=1000)
    rates.set_ylabel("load and capacity, records/s")
    lag.set_ylabel("lag, records")
    executors.set_ylabel("executors requested")
    executors.set_xlabel("seconds")
    for axis in (rates, lag, executors):
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.25)
    rates.legend(loc="upper left", fontsize=8, ncols=4)
    figure.suptitle(f"{workload}: every controller on the same load and noise, one seed")
    figure.savefig(path, dpi=75)
    plt.close(figure)


def _style(label: str) -> dict[str, str | float] | None:
    """How a controller is drawn; None for one that would only clutter the picture."""
    if label == OURS:
        return {"color": ACCENT, "linewidth": 2.2, "label": label}
    if label in DASHED:
        return {"color": DASHED[label], "linewidth": 1.2, "linestyle": "--", "label": label}
    if label in LINES:
        return {"color": LINES[label], "linewidth": 0.9, "alpha": 0.8, "label": label}
    return None

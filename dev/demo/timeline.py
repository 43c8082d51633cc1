"""The chart of a run: load, latency, lag, settings and cost over time, with each decision named."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from dev.demo.judge import late
from dev.demo.summary import Summary
from dev.demo.watch import Sample
from matplotlib import pyplot as plt

INK, ACCENT, WARN, MUTED = "#1f2933", "#0b7285", "#c92a2a", "#868e96"
ROWS = {
    "": 0.9, "load,\nrecords/s": 0.8, "latency, s": 1.6, "records\nbehind": 0.9, "executors": 1.0,
    "trigger, s": 0.7, "cost,\nexecutor-s": 1.0,
}  # fmt: skip
"""What each row shows, with its height."""
LEVELS = 4
"""Heights at which the words of neighbouring decisions stand, so that they do not overlap."""

Decision = dict[str, Any]


def moves(decisions: Sequence[Decision]) -> list[tuple[int, Decision]]:
    """The decisions that changed something, with their numbers in the whole list, from 1."""
    return [
        (number, d) for number, d in enumerate(decisions, 1) if d["action"] in {"Change", "Revert"}
    ]


def draw(
    samples: Sequence[Sample], decisions: Sequence[Decision], summary: Summary, title: str
) -> Any:
    """The chart as a figure; each number links to `#d<number>`."""
    figure, axes = plt.subplots(
        len(ROWS), 1, figsize=(12, 11), sharex=True, constrained_layout=True,
        gridspec_kw={"height_ratios": tuple(ROWS.values())},
    )  # fmt: skip
    words, load, latency, lag, executors, trigger, cost = axes
    _words(words, samples, decisions)
    _line(load, samples, lambda s: s.load, "load", color=INK, drawstyle="steps-post")
    _line(latency, samples, lambda s: s.p95, "p95 of the last batch", color=ACCENT)
    _line(latency, samples, lambda s: s.lag_s, "age of the oldest record that waits",
          color=MUTED, linewidth=0.9)  # fmt: skip
    latency.axhline(summary.target_s, color=WARN, linestyle="--", linewidth=1,
                    label=f"goal {summary.target_s:g} s")  # fmt: skip
    _shade(latency, samples, summary.target_s)
    _line(lag, samples, lambda s: s.lag, "lag", color=ACCENT)
    _line(executors, samples, lambda s: s.executors, "asked for", color=INK,
          drawstyle="steps-post")  # fmt: skip
    _line(executors, samples, lambda s: s.running, "running", color=ACCENT, drawstyle="steps-post")
    _line(trigger, samples, lambda s: s.trigger, "trigger", color=INK, drawstyle="steps-post")
    _cost(cost, samples, summary)
    for axis, name in zip(axes, ROWS, strict=True):
        axis.set_ylabel(name, fontsize=9)
        for _, decision in moves(decisions):
            axis.axvline(decision["t"], color=_color(decision), linewidth=0.8, linestyle=":")
    for axis in axes[1:]:
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.25)
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), fontsize=8, frameon=False)
    cost.set_xlabel("seconds since the load began")
    figure.suptitle(title)
    return figure


def save(figure: Any, path: Path) -> None:
    """The figure as a picture."""
    figure.savefig(path, dpi=110)


def svg(figure: Any) -> str:
    """The figure as an element of a page, its links alive."""
    out = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "trimtab"}):
        figure.savefig(out, format="svg")
    text = out.getvalue()
    return text[text.index("<svg") :]


def close(figure: Any) -> None:
    """Free the figure."""
    plt.close(figure)


def _color(decision: Decision) -> str:
    return WARN if decision["action"] == "Revert" else MUTED


def _words(axis: Any, samples: Sequence[Sample], decisions: Sequence[Decision]) -> None:
    """What each line changed, beside it."""
    axis.set_ylim(0, LEVELS)
    axis.set_yticks([])
    axis.set_frame_on(False)
    end_s = max((s.t for s in samples), default=0.0)
    for place, (number, decision) in enumerate(moves(decisions)):
        near_end = decision["t"] > 0.85 * end_s
        changes = ", ".join(decision.get("changes") or []) or decision["reason"]
        axis.text(
            decision["t"], LEVELS - 1 - place % LEVELS + 0.2,
            f" {number}  {changes.replace('->', '→')} ",
            ha="right" if near_end else "left", fontsize=8,
            color=WARN if decision["action"] == "Revert" else INK,
            url=f"#d{number}", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip


def _line(
    axis: Any, samples: Sequence[Sample], value: Callable[[Sample], float | None], label: str,
    **style: Any,
) -> None:  # fmt: skip
    known = [value(s) for s in samples]
    axis.plot(
        [s.t for s in samples], [float("nan") if v is None else v for v in known], label=label,
        **style,
    )  # fmt: skip


def _shade(axis: Any, samples: Sequence[Sample], target_s: float) -> None:
    """The time above the goal."""
    label = "above the goal"
    for one, other in itertools.pairwise(samples):
        if late(one, target_s):
            axis.axvspan(one.t, other.t, color=WARN, alpha=0.15, linewidth=0, label=label)
            label = "_" + label.lstrip("_")


def _cost(axis: Any, samples: Sequence[Sample], summary: Summary) -> None:
    """Executor-seconds so far, beside those of the static peak."""
    spent, at = [0.0], [s.t for s in samples]
    for one, other in itertools.pairwise(samples):
        spent.append(spent[-1] + (other.t - one.t) * one.cost)
    axis.plot(at, spent[: len(at)], color=ACCENT, label="trimtab")
    if at:
        axis.plot(
            [at[0], at[-1]], [0, summary.static * (at[-1] - at[0])], color=MUTED, linestyle="--",
            label=f"{summary.static} executors all the time",
        )  # fmt: skip

"""What the demo leaves in build/demo: decisions.jsonl, timeline.png, report.html."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from dev.demo.judge import Verdict
from dev.demo.watch import Sample
from matplotlib import pyplot as plt

INK, ACCENT, WARN, MUTED = "#1f2933", "#0b7285", "#c92a2a", "#868e96"


def write(
    folder: Path, samples: Sequence[Sample], decisions: Sequence[dict[str, Any]],
    verdict: Verdict, facts: dict[str, Any],
) -> None:  # fmt: skip
    """Write all the files."""
    target_s = verdict.target_s
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(d) + "\n" for d in decisions)
    (folder / "decisions.jsonl").write_text(lines)
    rows = [{k: v for k, v in s.plain().items() if k != "decisions"} for s in samples]
    (folder / "samples.json").write_text(json.dumps(rows))
    _plot(folder / "timeline.png", samples, decisions, target_s)
    (folder / "report.html").write_text(_page(folder / "timeline.png", decisions, verdict, facts))


def _plot(
    path: Path, samples: Sequence[Sample], decisions: Sequence[dict[str, Any]], target_s: float
) -> None:
    figure, axes = plt.subplots(4, 1, figsize=(11, 9), sharex=True, constrained_layout=True)
    at = [s.t for s in samples]

    def line(axis: Any, values: Sequence[float | None], label: str, **style: Any) -> None:
        axis.plot(at, [float("nan") if v is None else v for v in values], label=label, **style)

    line(axes[0], [s.load for s in samples], "load", color=INK, drawstyle="steps-post")
    axes[0].set_ylabel("records/s")
    line(axes[1], [s.p95 for s in samples], "p95 of the last batch", color=ACCENT)
    axes[1].axhline(target_s, color=WARN, linestyle="--", label=f"goal {target_s:g} s")
    axes[1].set_ylabel("latency, s")
    line(axes[2], [s.lag for s in samples], "lag", color=ACCENT)
    axes[2].set_ylabel("records behind")
    line(axes[3], [s.executors for s in samples], "executors asked", color=INK,
         drawstyle="steps-post")  # fmt: skip
    line(axes[3], [s.running for s in samples], "running", color=ACCENT, drawstyle="steps-post")
    line(axes[3], [s.trigger for s in samples], "trigger, s", color=MUTED, drawstyle="steps-post")
    axes[3].set_ylabel("executors, trigger")
    axes[3].set_xlabel("seconds since the load began")
    for axis in axes:
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.25)
        for d in decisions:
            if d["action"] in {"Change", "Revert"}:
                color = WARN if d["action"] == "Revert" else MUTED
                axis.axvline(d["t"], color=color, linewidth=0.8, linestyle=":")
        axis.legend(loc="upper right", fontsize=8)
    figure.suptitle("trimtab: the quickstart under load; dotted lines are its own changes")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _page(
    picture: Path, decisions: Sequence[dict[str, Any]], verdict: Verdict,
    facts: dict[str, Any],
) -> str:  # fmt: skip
    image = base64.b64encode(picture.read_bytes()).decode()
    word = "passed" if verdict.passed else "failed"
    phases = [
        (
            f"{v.phase.start_s:.0f}-{v.phase.end_s:.0f}", f"{v.phase.rate:g}",
            "yes" if v.broken else "no", "yes" if v.held else "NO",
            v.executors, ", ".join(map(str, v.allowed)), v.detect_s, v.settle_s, v.recover_s,
            v.changes,
        )
        for v in verdict.phases
    ]  # fmt: skip
    table = _table(
        ("seconds", "records/s", "goal broken", "held at the end", "executors", "allowed",
         "detect, s", "settle, s", "recover, s", "changes"), phases,
    )  # fmt: skip
    told = _table(
        ("t, s", "action", "reason", "changes", "in words"),
        [
            (f"{d['t']:.0f}", d["action"], d["reason"], "; ".join(d.get("changes") or []),
             d["message"])
            for d in decisions
        ],
    )  # fmt: skip
    faults = "".join(f"<li>{html.escape(f)}</li>" for f in verdict.faults)
    numbers = _table(("what", "value"), list(facts.items()))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>trimtab demo: {word}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: {INK}; max-width: 70rem; margin: 2rem auto;
  padding: 0 1rem; }}
h1 span {{ color: {ACCENT if verdict.passed else WARN}; }}
table {{ border-collapse: collapse; margin: 1rem 0; font-size: 13px; width: 100%; }}
th, td {{ text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #dee2e6;
  vertical-align: top; }}
img {{ width: 100%; }}
</style></head><body>
<h1>trimtab demo: <span>{word}</span></h1>
<p>Goal: the 95th percentile of record latency stays at or below {verdict.target_s:g} s.</p>
<ul>{faults}</ul>
<img alt="load, latency, lag and settings over time" src="data:image/png;base64,{image}">
<h2>Phases</h2>{table}
<h2>Every decision</h2>{told}
<h2>Figures</h2>{numbers}
</body></html>
"""


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    def cells(tag: str, values: Sequence[Any]) -> str:
        return "".join(
            f"<{tag}>{html.escape('-' if v is None else str(v))}</{tag}>" for v in values
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><tr>{cells('th', head)}</tr>{body}</table>"

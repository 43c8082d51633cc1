"""What the demo leaves in build/demo: decisions.jsonl, samples.json, timeline.png, report.html."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dev.demo import timeline
from dev.demo.judge import Verdict
from dev.demo.summary import Summary
from dev.demo.timeline import ACCENT, INK, WARN
from dev.demo.watch import Sample

TITLE = "trimtab: the quickstart under load; each dotted line is a change of its own"


@dataclass(frozen=True)
class Told:
    """All that is known of a finished run."""

    samples: Sequence[Sample]
    decisions: Sequence[dict[str, Any]]
    verdict: Verdict
    summary: Summary
    facts: dict[str, Any]


def write(folder: Path, told: Told) -> None:
    """Write all the files."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(d) + "\n" for d in told.decisions)
    (folder / "decisions.jsonl").write_text(lines)
    rows = [{k: v for k, v in s.plain().items() if k != "decisions"} for s in told.samples]
    (folder / "samples.json").write_text(json.dumps(rows))
    figure = timeline.draw(told.samples, told.decisions, told.summary, TITLE)
    timeline.save(figure, folder / "timeline.png")
    (folder / "report.html").write_text(_page(timeline.svg(figure), told))
    timeline.close(figure)


def _page(chart: str, told: Told) -> str:
    word = "passed" if told.verdict.passed else "failed"
    color = ACCENT if told.verdict.passed else WARN
    faults = "".join(f"<li>{html.escape(f)}</li>" for f in told.verdict.faults)
    sentences = "".join(f"<p>{html.escape(s)}</p>" for s in told.summary.sentences())
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>trimtab demo: {word}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: {INK}; max-width: 75rem; margin: 2rem auto;
  padding: 0 1rem; }}
h1 span {{ color: {color}; }}
p {{ margin: .3rem 0; max-width: 50rem; }}
table {{ border-collapse: collapse; margin: 1rem 0; font-size: 13px; width: 100%; }}
th, td {{ text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #dee2e6;
  vertical-align: top; }}
td:nth-child(-n+5) {{ white-space: nowrap; }}
tr:target {{ background: #fff3bf; }}
svg {{ width: 100%; height: auto; }}
svg a text {{ text-decoration: underline; cursor: pointer; }}
</style></head><body>
<h1>trimtab demo: <span>{word}</span></h1>
{_tiles(told.summary)}
{sentences}
<ul>{faults}</ul>
<h2>What happened</h2>
<p>Each number leads to the decision behind it.</p>
{chart}
<h2>Every decision</h2>{_decisions(told.decisions)}
<h2>Steps of the load</h2>{_phases(told.verdict)}
<h2>Figures</h2>{_table(("what", "value"), list(told.facts.items()))}
</body></html>
"""


def _tiles(summary: Summary) -> str:
    """The two figures that a newcomer looks for."""
    tiles = (
        (f"{summary.held_percent:.0f} %", "of the seconds the goal held"),
        (
            f"{summary.saved_percent:.0f} %",
            f"saved against {summary.static} executors all the time",
        ),
    )
    return "".join(
        f'<p><b style="font-size: 1.8rem; color: {ACCENT}">{html.escape(value)}</b>'
        f" {html.escape(what)}</p>"
        for value, what in tiles
    )


def _decisions(decisions: Sequence[dict[str, Any]]) -> str:
    head = ("", "t, s", "action", "reason", "changes", "in words")
    rows = [
        (number, f"{d['t']:.0f}", d["action"], d["reason"], "; ".join(d.get("changes") or []),
         d["message"])
        for number, d in enumerate(decisions, 1)
    ]  # fmt: skip
    return _table(head, rows, anchor="d")


def _phases(verdict: Verdict) -> str:
    head = ("seconds", "records/s", "goal broken", "held at the end", "executors", "allowed",
            "first change, s", "last change, s", "met again, s", "changes")  # fmt: skip
    rows = [
        (
            f"{v.phase.start_s:.0f}-{v.phase.end_s:.0f}", f"{v.phase.rate:g}",
            "yes" if v.broken else "no", "yes" if v.held else "NO",
            v.executors, ", ".join(map(str, v.allowed)), v.detect_s, v.settle_s, v.recover_s,
            v.changes,
        )
        for v in verdict.phases
    ]  # fmt: skip
    return _table(head, rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]], anchor: str = "") -> str:
    """A table; with an anchor each row has an id of it and the row's first cell."""

    def cells(tag: str, values: Sequence[Any]) -> str:
        return "".join(
            f"<{tag}>{html.escape('-' if v is None else str(v))}</{tag}>" for v in values
        )

    def opened(row: Sequence[Any]) -> str:
        return f'<tr id="{anchor}{row[0]}">' if anchor else "<tr>"

    body = "".join(f"{opened(row)}{cells('td', row)}</tr>" for row in rows)
    return f"<table><tr>{cells('th', head)}</tr>{body}</table>"

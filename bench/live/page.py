"""The page of the live comparison and its verdicts, from the book alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from bench.live.book import Book
from bench.live.contest import BEST, CONTENDERS, DEFAULTS, OURS
from bench.live.points import (
    CALLS,
    EXECUTORS,
    MET,
    TARGET_S,
    TRIGGERS_S,
    Goal,
    Point,
    Window,
    best,
    spread,
)
from bench.live.shapes import SHAPES

Json = dict[str, Any]

WITHIN = 0.10
"""How close to the best grid point the tuned pipeline should come."""


TITLE = "# On the real cluster, from cold\n"
MARK = "<!-- what follows is written by `make bench-live` -->"


def inserted(words: str, tables: str) -> str:
    """The page with these tables below the mark; what is above the mark stays."""
    return f"{words.partition(MARK)[0].rstrip()}\n\n{MARK}\n\n{tables}\n"


def markdown(book: Book) -> str:
    """The tables, in Markdown."""
    return "\n\n".join(
        [
            "## The grid, latency goal",
            _grid_table(book.windows, "latency", _latency_cell),
            _best(book, "latency"),
            "## The grid, throughput goal",
            _grid_table(book.windows, "throughput", _rate_cell),
            _best(book, "throughput"),
            *(f"## {shape}\n\n{_runs(book, shape)}" for shape in (*SHAPES, "flood")),
            _calibrations(book),
        ]
    )


def _grid_table(windows: Sequence[Window], goal: Goal, cell: Callable[[Window], str]) -> str:
    """A table: one row for each executors and calls, one column for each trigger."""
    seen = {w.point: w for w in windows if w.repeat == 0 and _tells(w, goal)}
    head = "| executors x calls | " + " | ".join(f"{t:g} s" for t in TRIGGERS_S) + " |"
    lines = [head, "|---" * (len(TRIGGERS_S) + 1) + "|"]
    for executors in sorted(EXECUTORS):
        for calls in sorted(CALLS):
            points = [seen.get(Point(executors, t, calls)) for t in TRIGGERS_S]
            cells = [cell(w) if w else "-" for w in points]
            lines.append(f"| {executors} x {calls} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _tells(window: Window, goal: Goal) -> bool:
    """Whether a window belongs in the table of a goal."""
    return window.goal == goal or (goal == "throughput" and window.saturated)


def _latency_cell(window: Window) -> str:
    if window.saturated:
        return "falls behind"
    text = f"{window.p95_s:.1f} s"
    return f"**{text}**" if window.holds else f"{text}, met {window.met:.0%}"


def _rate_cell(window: Window) -> str:
    return f"{window.rate:.0f}/s"


def figure(window: Window) -> float:
    """The figure by which windows of one goal are compared: seconds of latency or records/s."""
    return window.p95_s if window.goal == "latency" else window.rate


def noise(book: Book, goal: Goal) -> float:
    """Half the range over the mean of the best point's repetitions."""
    found = best(book.windows, goal)
    same = [w for w in book.windows if found and (w.goal, w.point) == (found.goal, found.point)]
    return spread([figure(w) for w in same])


def _best(book: Book, goal: Goal) -> str:
    found = best(book.windows, goal)
    if found is None:
        return f"Best: none meets the goal of {TARGET_S:g} s in {MET:.0%} of the seconds."
    repeats = sum(w.goal == found.goal and w.point == found.point for w in book.windows)
    what = (
        f"{found.executor_s / found.seconds:.2f} executors, p95 {found.p95_s:.2f} s"
        if goal == "latency"
        else f"{found.rate:.0f} records/s"
    )
    told = "measured once so far"
    if repeats > 1:
        told = f"measured {repeats} times, half the range over the mean is {noise(book, goal):.1%}"
    return f"Best (executors x trigger x calls): **{found.point.name}**, {what}; {told}."


def _of(book: Book, shape: str) -> dict[str, Json]:
    """The runs under one shape, by contender."""
    return {run["who"]: run for run in book.runs if run["shape"] == shape}


def _runs(book: Book, shape: str) -> str:
    """The table of one shape: a row for each contender."""
    runs = _of(book, shape)
    columns = FLOOD_COLUMNS if shape == "flood" else LOAD_COLUMNS
    lines = [f"| contender | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for who in CONTENDERS:
        cells = [cell(runs[who]) for cell in columns.values()] if who in runs else [MISSING]
        cells += [""] * (len(columns) - len(cells))
        lines.append(f"| {who} | {' | '.join(cells)} |")
    told = [verdict(runs, shape, noise(book, "throughput")), beside_defaults(runs, shape)]
    return "\n".join([*lines, "", " ".join(filter(None, told))]).rstrip()


def _p95(run: Json) -> str:
    return "-" if run["p95_s"] is None else f"{run['p95_s']:.2f} s"


def _settings(run: Json) -> str:
    """The settings in force at the end, as the driver exported them."""
    told = run.get("settings") or {}
    return ", ".join(f"{name} {value}" for name, value in told.items()) or "not noted"


MISSING = "not measured yet"
RATE_COLUMNS: dict[str, Callable[[Json], str]] = {
    "executors, mean": lambda run: f"{run['executor_s'] / run['seconds']:.2f}",
    "records/s": lambda run: f"{run['rate']:.0f}",
}
FLOOD_COLUMNS = RATE_COLUMNS | {"settings at the end": _settings}
LOAD_COLUMNS = {
    "goal met": lambda run: f"{run['met']:.1%}",
    "p95, mean": _p95,
    **RATE_COLUMNS,
    "longest break": lambda run: f"{run['longest_break_s']:.0f} s",
    "settings at the end": _settings,
}


def verdict(runs: dict[str, Json], shape: str, noise: float) -> str:
    """Compares ours with the best static settings, in words; empty until both have run."""
    ours, static = runs.get(OURS), runs.get(BEST)
    if ours is None or static is None:
        return ""
    if shape == "flood":
        ratio = ours["rate"] / static["rate"]
        margin = max(WITHIN, noise)
        told = f"trimtab handles {ratio:.2f} times what the best static settings do"
        if abs(ratio - 1) <= margin:
            return f"{told}: within {margin:.0%}."
        return f"{told}: {'more' if ratio > 1 else 'less'} by over {margin:.0%}."
    ratio = ours["executor_s"] / static["executor_s"]
    holds = ours["met"] >= MET or ours["met"] >= static["met"]
    told = f"trimtab takes {ratio:.2f} of the executor-seconds of the best static settings"
    goal = f"and {'meets' if holds else 'does not meet'} the goal"
    return f"{told} ({'within' if ratio <= 1 + WITHIN else 'not within'} {WITHIN:.0%}) {goal}."


def beside_defaults(runs: dict[str, Json], shape: str) -> str:
    """Whether ours is worse than Spark's defaults, in words; empty until both have run."""
    ours, plain = runs.get(OURS), runs.get(DEFAULTS)
    if ours is None or plain is None:
        return ""
    worse = ours["rate"] < plain["rate"] if shape == "flood" else ours["met"] < plain["met"]
    return f"It is {'**worse**' if worse else 'not worse'} than Spark's defaults."


def _calibrations(book: Book) -> str:
    lines = ["## Calibration, from cold", "", "| shape | length | goal broken for |",
             "|---|---|---|"]  # fmt: skip
    lines += [
        f"| {r['shape']} | {r['calibration_s']:.0f} s | {r['calibration_violated_s']:.0f} s |"
        for r in book.runs
        if "calibration_s" in r
    ]
    flood = _of(book, "flood")
    if OURS in flood and BEST in flood:
        reached_s = _reached(flood[OURS]["batches"], flood[BEST]["rate"])
        length = "never" if reached_s is None else f"{reached_s:.0f} s"
        lines.append(f"| flood | {length}, until a batch had the best static settings' rate | - |")
    return "\n".join(lines)


def _reached(batches: Sequence[Sequence[float]], rate: float) -> float | None:
    """The second when the first batch with at least `rate` records/s begins; None without one."""
    for (begin_s, *_), (end_s, _, records) in pairwise(batches):
        if records >= rate * (end_s - begin_s):
            return begin_s
    return None


def decisions(book: Book) -> str:
    """What trimtab decided in each of its runs."""
    parts = []
    for run in (r for r in book.runs if r["who"] == OURS):
        lines = [
            f"- {d['time']} {d['action']} {d['reason']}: {d['message']}" for d in run["decisions"]
        ]
        parts.append("\n".join([f"## {run['shape']}", "", *lines]))
    return "\n\n".join(["# What trimtab decided", *parts]) if parts else ""

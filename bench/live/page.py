"""The page of the live comparison and its verdicts, from the book alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from bench.live.book import Book
from bench.live.contest import ASKED, BEST, DEFAULTS, OURS, PROMPT
from bench.live.points import GRIDS, MET, TARGET_S, Goal, Point, Window, best, beyond, spread

Json = dict[str, Any]

WITHIN = 0.10
"""How close to the best grid point the tuned pipeline should come."""
COLD = 0.9
"""The share of the seconds of the first pass in which the goal should be met."""
PROMPTLY = 0.25
"""How much higher the p95 of the latency profile may be than that of the best static settings."""
SOON_S, MOST = 120.0, 0.9
"""By when a flood should be handled at what share of the best static settings' rate."""

TITLE = "# On the real cluster, from cold\n"
MARK = "<!-- what follows is written by `make bench-live` -->"


def inserted(words: str, tables: str) -> str:
    """The page with these tables below the mark; what is above the mark stays."""
    return f"{words.partition(MARK)[0].rstrip()}\n\n{MARK}\n\n{tables}\n"


def markdown(book: Book) -> str:
    """The tables, in Markdown."""
    return "\n\n".join(
        [
            *(_shape(book, shape, asked) for shape, asked in ASKED),
            "## The grid, latency goal",
            _grid_table(book.windows, "latency", _latency_cell),
            _best(book, "latency"),
            "## The grid, throughput goal",
            _grid_table(book.windows, "throughput", _rate_cell),
            _best(book, "throughput"),
            f"Measured at: {', '.join(commits(book)) or 'nothing yet'}.",
        ]
    )


def commits(book: Book) -> list[str]:
    """The commits of all measurements, sorted."""
    return sorted({w.commit for w in book.windows} | {run["commit"] for run in book.runs})


# the grid


def _grid_table(windows: Sequence[Window], goal: Goal, cell: Callable[[Window], str]) -> str:
    """Rows and columns are what varies: calls, and triggers or batch limits."""
    column = "trigger_s" if goal == "latency" else "limit"
    seen = {w.point: w for w in windows if w.repeat == 0 and w.goal == goal}
    points = sorted({*seen, *GRIDS[goal]})
    columns = sorted({getattr(p, column) for p in points})
    unit = " s" if goal == "latency" else " records"
    heads = " | ".join(f"{value:,}{unit}" for value in columns)
    lines = [f"| executors x calls | {heads} |", "|---" * (len(columns) + 1) + "|"]
    for executors, calls in sorted({(p.executors, p.calls) for p in points}):
        row = {
            getattr(p, column): p for p in points if (p.executors, p.calls) == (executors, calls)
        }
        found = [seen.get(row[value]) if value in row else None for value in columns]
        cells = [cell(w) if w else "-" for w in found]
        lines.append(f"| {executors} x {calls} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


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
    return spread([figure(w) for w in _repeats(book, goal)])


def _repeats(book: Book, goal: Goal) -> list[Window]:
    found = best(book.windows, goal)
    return [w for w in book.windows if found and (w.goal, w.point) == (goal, found.point)]


def _best(book: Book, goal: Goal) -> str:
    found = best(book.windows, goal)
    if found is None:
        return f"Best: none meets the goal of {TARGET_S:g} s in {MET:.0%} of the seconds."
    what = (
        f"{found.executor_s / found.seconds:.2f} executors, p95 {found.p95_s:.2f} s"
        if goal == "latency"
        else f"{found.rate:.0f} records/s"
    )
    repeats, told = len(_repeats(book, goal)), "measured once so far"
    if repeats > 1:
        told = f"measured {repeats} times, half the range over the mean is {noise(book, goal):.1%}"
    edge = [_sides(p, found.point) for p in beyond(book.windows, goal)]
    inside = f"at the edge of what was measured: {', '.join(edge)} is missing" if edge else (
        "worse points lie on both sides of it, as far as the knobs go"
    )  # fmt: skip
    name = f"**{found.point.name}**"
    return f"Best (executors x trigger x calls x batch limit): {name}, {what}; {told}; {inside}."


def _sides(missing: Point, found: Point) -> str:
    """Where a point differs from the best one."""
    names = {"trigger_s": "a trigger of {:g} s", "calls": "{:,} calls", "limit": "a limit of {:,}"}
    differing = (n for n in names if getattr(missing, n) != getattr(found, n))
    return ", ".join(names[n].format(getattr(missing, n)) for n in differing)


# the contenders


def _shape(book: Book, shape: str, asked: Sequence[str]) -> str:
    """The table of one shape, a row for each contender and pass, and what it shows."""
    columns = FLOOD_COLUMNS if shape == "flood" else LOAD_COLUMNS
    lines = [f"## {shape}", "", f"| contender | {' | '.join(columns)} |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    runs = {who: _of(book, shape, who) for who in asked}
    for who, repeats in runs.items():
        if not repeats:
            lines.append(f"| {who} | not measured yet |" + " |" * (len(columns) - 1))
        for number in range(len(repeats[0]["passes"]) if repeats else 0):
            cells = [cell(repeats, number) for cell in columns.values()]
            lines.append(f"| {who} | {' | '.join(cells)} |")
    told = _flood(runs) if shape == "flood" else _load(runs)
    return "\n".join([*lines, "", *(f"- {each}" for each in told)]).rstrip()


def _of(book: Book, shape: str, who: str) -> list[Json]:
    """A contender's runs under one shape."""
    return [run for run in book.runs if (run["shape"], run["who"]) == (shape, who)]


Runs = Sequence[Json]
Cell = Callable[[Runs, int], str]


def _values(runs: Runs, number: int, name: str) -> list[float]:
    found = (run["passes"][number][name] for run in runs)
    return [value for value in found if value is not None]


def _range(values: Sequence[float], text: str) -> str:
    """The mean, and the range if there are several; a dash if there are none."""
    if not values:
        return "-"
    told = text.format(fmean(values))
    low, high = (text.format(each) for each in (min(values), max(values)))
    return told if low == high else f"{told} ({low} to {high})"


def _column(name: str, text: str) -> Cell:
    return lambda runs, number: _range(_values(runs, number, name), text)


def _executors(runs: Runs, number: int) -> str:
    each = [run["passes"][number] for run in runs]
    return _range([one["executor_s"] / one["seconds"] for one in each], "{:.2f}")


def _settings(runs: Runs, number: int) -> str:
    """The settings in force at the end of each run, as the driver exported them."""
    if number + 1 < len(runs[0]["passes"]):
        return ""
    each = [", ".join(f"{k} {v}" for k, v in run["settings"].items()) for run in runs]
    return "; ".join(dict.fromkeys(each))


FLOOD_COLUMNS: dict[str, Cell] = {
    "runs": lambda runs, _: str(len(runs)),
    "records/s": _column("rate", "{:.0f}"),
    "executors": _executors,
    "settings at the end": _settings,
}
LOAD_COLUMNS: dict[str, Cell] = {
    "pass": lambda runs, number: f"{('cold', 'warm')[number]}, {len(runs)} runs",
    "goal met": _column("met", "{:.1%}"),
    "p95, mean": _column("p95_s", "{:.2f} s"),
    "executors": _executors,
    "records/s": _column("rate", "{:.0f}"),
    "longest break": _column("longest_break_s", "{:.0f} s"),
    "settings at the end": _settings,
}


def _mean(runs: Runs, number: int, name: str) -> float:
    return fmean(_values(runs, number, name) or [float("inf")])


def _target(words: str, *, met: bool) -> str:
    return f"{words}: {'met' if met else '**missed**'}"


def _load(runs: dict[str, list[Json]]) -> list[str]:
    """What the runs under a load show, against what is wanted."""
    ours, static = runs.get(OURS), runs.get(BEST)
    told = []
    for who in (OURS, PROMPT):
        if cold := runs.get(who):
            held = _mean(cold, 0, "met")
            words = f"{who}, cold: the goal is met in {held:.1%} of the seconds, {COLD:.0%} wanted"
            told.append(_target(words, met=held >= COLD))
    if ours and static:
        ratio = _mean(ours, 1, "executor_s") / _mean(static, 1, "executor_s")
        words = f"{OURS}, warm: {ratio:.2f} of the executor-seconds of the best static settings"
        holds = _mean(ours, 1, "met") >= min(MET, _mean(static, 1, "met"))
        words += f" ({1 + WITHIN:.2f} wanted), and the goal is {'met' if holds else 'not met'}"
        told.append(_target(words, met=holds and ratio <= 1 + WITHIN))
    if static and (prompt := runs.get(PROMPT)):
        ratio = _mean(prompt, 1, "p95_s") / _mean(static, 1, "p95_s")
        cost = _mean(prompt, 1, "executor_s") / _mean(static, 1, "executor_s")
        words = f"{PROMPT}, warm: {ratio:.2f} of the p95 of the best static settings"
        words += f" ({1 + PROMPTLY:.2f} wanted) at {cost:.2f} of their executor-seconds"
        told.append(_target(words, met=ratio <= 1 + PROMPTLY and cost <= 1 + WITHIN))
    return told + _beside_defaults(runs, "met")


def _flood(runs: dict[str, list[Json]]) -> list[str]:
    """What the runs in the flood show, against what is wanted."""
    ours, static = runs.get(OURS), runs.get(BEST)
    if not ours or not static:
        return []
    rate = _mean(static, 0, "rate")
    ratio = _mean(ours, 0, "rate") / rate
    words = f"{OURS} handles {ratio:.2f} times what the best static settings do ({MOST:g} wanted)"
    told = [_target(words, met=ratio >= MOST)]
    reached = [_reached(run["batches"], MOST * rate) for run in ours]
    each = ", ".join("never" if at_s is None else f"{at_s:.0f} s" for at_s in reached)
    soon = all(at_s is not None and at_s <= SOON_S for at_s in reached)
    words = f"From cold to {MOST:.0%} of their rate: {each} ({SOON_S:.0f} s wanted)"
    return [*told, _target(words, met=soon), *_beside_defaults(runs, "rate")]


def _beside_defaults(runs: dict[str, list[Json]], name: str) -> list[str]:
    """Whether ours is worse than Spark's defaults, in words; empty until both have run."""
    ours, plain = runs.get(OURS), runs.get(DEFAULTS)
    if not ours or not plain:
        return []
    worse = _mean(ours, -1, name) < _mean(plain, -1, name)
    return [f"It is {'**worse**' if worse else 'not worse'} than Spark's defaults"]


def _reached(batches: Sequence[Sequence[float]], rate: float) -> float | None:
    """The second when the first batch with at least `rate` records/s begins; None without one."""
    for (begin_s, *_), (end_s, _, records) in pairwise(batches):
        if records >= rate * (end_s - begin_s):
            return begin_s
    return None


def decisions(book: Book) -> str:
    """What trimtab decided in each of its runs."""
    parts = []
    for run in (r for r in book.runs if r["who"] in {OURS, PROMPT}):
        lines = [
            f"- {d['time']} {d['action']} {d['reason']}: {d['message']}" for d in run["decisions"]
        ]
        title = f"## {run['shape']}, {run['who']}, run {run['repeat'] + 1}"
        parts.append("\n".join([title, "", *lines]))
    return "\n\n".join(["# What trimtab decided", *parts]) if parts else ""

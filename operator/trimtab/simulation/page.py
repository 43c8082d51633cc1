"""A run as one HTML page without scripts: its summary, a chart, and its decisions by number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from trimtab.api.quantities import format_duration
from trimtab.api.reasons import Action
from trimtab.simulation.figures import violating_seconds
from trimtab.simulation.run import Run
from trimtab.simulation.summary import summary

WIDTH, HEIGHT, GAP = 1000, 170, 50
LEFT, TOP = 70, 56
"""Pixels; a panel is as high as HEIGHT."""
BLUE, ORANGE, RED, GREY = "#1f6fb2", "#d97706", "#c0392b", "#666"

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;color:#222}"
    "table{border-collapse:collapse}td,th{padding:.3em .8em;border-bottom:1px solid #ddd;"
    "text-align:left;vertical-align:top}svg text{font:12px system-ui,sans-serif;fill:#444}"
    "svg{width:100%;height:auto}.n{color:#1f6fb2;font-weight:600}"
    "svg text.n{fill:#1f6fb2;font-weight:600}svg text.t{font-weight:600}"
)

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a panel."""

    name: str
    points: Points
    colour: str
    stepped: bool = False
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines that share an axis."""

    title: str
    unit: str
    lines: tuple[Line, ...]
    shaded: tuple[tuple[float, float], ...] = ()
    """Spans of seconds."""


def page(run: Run) -> str:
    """The page of a finished run."""
    told = list(_decisions(run))
    rows = "".join(
        f"<tr><td class=n>{number}</td><td>{escape(format_duration(round(at_s)))}</td>"
        f"<td>{escape(words)}</td></tr>"
        for number, at_s, words in told
    )
    title = escape(f"{run.scenario.name}, seed {run.seed}")
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
        f"<style>{STYLE}</style><h1>{title}</h1><p>{escape(summary(run).words)}.</p>"
        f"{_chart(run, told)}<h2>Decisions</h2>"
        f"<table><tr><th>no.<th>after<th>decision</tr>{rows}</table></html>\n"
    )


def _decisions(run: Run) -> Iterator[tuple[int, float, str]]:
    """Number, time and words of each decision but the holds."""
    number = 0
    for tick in run.ticks:
        for told in tick.decision.told:
            if told.action is not Action.HOLD:
                number += 1
                yield number, tick.at_s, f"{told.action} {told.reason}: {told.message}"


def _panels(run: Run) -> tuple[Panel, ...]:
    seconds = range(0, int(run.scenario.duration), max(1, int(run.scenario.duration / WIDTH)))
    policy = run.scenario.policy()
    load = [(float(t), run.arrivals.rate(t)) for t in seconds]
    ends = [(b.end_s, b.end_s - run.arrivals.time_of(b.first)) for b in run.batches if b.records]
    latency = [Line("oldest record of each batch", ends, BLUE)]
    if policy.target_s is not None:
        span = [(0.0, policy.target_s), (run.scenario.duration, policy.target_s)]
        latency.append(Line("goal", span, RED, dashed=True))
    settings = [(t.at_s, t.after.in_force) for t in run.ticks]
    executors = [(at_s, float(each.executors)) for at_s, each in settings]
    triggers = [(at_s, each.trigger_s) for at_s, each in settings]
    return (
        Panel("Input", "records/s", (Line("input", load, GREY, stepped=True),)),
        Panel("Latency", "s", tuple(latency), tuple(_spans(violating_seconds(run)))),
        Panel("Executors", "", (Line("executors", executors, BLUE, stepped=True),)),
        Panel("Trigger", "s", (Line("trigger", triggers, ORANGE, stepped=True),)),
    )


def _spans(seconds: Sequence[int]) -> Iterator[tuple[float, float]]:
    """Seconds in a row as spans."""
    begun = last = None
    for second in seconds:
        if last is None or second != last + 1:
            if begun is not None and last is not None:
                yield float(begun), float(last + 1)
            begun = second
        last = second
    if begun is not None and last is not None:
        yield float(begun), float(last + 1)


def _chart(run: Run, told: Sequence[tuple[int, float, str]]) -> str:
    panels = _panels(run)
    high = TOP + len(panels) * (HEIGHT + GAP)

    def x(at_s: float) -> float:
        return LEFT + at_s / run.scenario.duration * (WIDTH - LEFT - 20)

    marks = "".join(
        f"<line x1={x(at_s):.1f} x2={x(at_s):.1f} y1={TOP} y2={high - GAP} stroke=#bbb"
        f" stroke-dasharray='2 4'/><text x={x(at_s) + 2:.1f} y={TOP - 24 - 12 * (number % 2)}"
        f" class=n>{number}</text>"
        for number, at_s, _ in told
    )
    parts = [_panel(panel, TOP + index * (HEIGHT + GAP), x) for index, panel in enumerate(panels)]
    last = high - GAP + 16
    times = "".join(
        f"<text x={x(run.scenario.duration * share):.1f} y={last} text-anchor=middle>"
        f"{escape(format_duration(round(run.scenario.duration * share)))}</text>"
        for share in (0.0, 0.25, 0.5, 0.75, 1.0)
    )
    body = "".join([marks, *parts, times])
    return f"<svg viewBox='0 0 {WIDTH} {high - GAP + 24}' role=img>{body}</svg>"


def _panel(panel: Panel, top: float, x: Callable[[float], float]) -> str:
    most = max((value for line in panel.lines for _, value in line.points), default=0.0) or 1.0

    def y(value: float) -> float:
        return top + HEIGHT * (1 - value / (1.05 * most))

    shaded = "".join(
        f"<rect x={x(a):.1f} y={top} width={max(1.0, x(b) - x(a)):.1f} height={HEIGHT}"
        f" fill={RED} opacity=.15 />"
        for a, b in panel.shaded
    )
    unit = f", {panel.unit}" if panel.unit else ""
    goal = "; shaded: above the goal" if panel.shaded else ""
    frame = (
        f"<text x={LEFT} y={top - 8} class=t>{escape(panel.title + unit + goal)}</text>"
        f"<line x1={LEFT} x2={WIDTH - 20} y1={top + HEIGHT} y2={top + HEIGHT} stroke=#999 />"
        f"<text x={LEFT - 8} y={y(most) + 4:.1f} text-anchor=end>{most:,.4g}</text>"
        f"<text x={LEFT - 8} y={top + HEIGHT + 4} text-anchor=end>0</text>"
    )
    return shaded + frame + "".join(_drawn(line, x, y) for line in panel.lines)


def _drawn(line: Line, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    corners: list[str] = []
    before: float | None = None
    for at_s, value in line.points:
        if line.stepped and before is not None and before != value:
            corners.append(f"{x(at_s):.1f},{y(before):.1f}")
        corners.append(f"{x(at_s):.1f},{y(value):.1f}")
        before = value
    dashes = " stroke-dasharray='6 4'" if line.dashed else ""
    return (
        f"<polyline points='{' '.join(corners)}' fill=none stroke={line.colour}"
        f" stroke-width=1.6{dashes}><title>{escape(line.name)}</title></polyline>"
    )

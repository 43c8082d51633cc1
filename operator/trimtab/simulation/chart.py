"""Charts as SVG, and pages as HTML without scripts: panels over one time, decisions by number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

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

ANCHORS = ((0.0, "start"), (0.25, "middle"), (0.5, "middle"), (0.75, "middle"), (1.0, "end"))
"""Where the times stand, as shares of the axis, and how they are aligned."""

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


@dataclass(frozen=True, slots=True)
class Mark:
    """A numbered moment of a chart."""

    number: int
    at_s: float
    time: str
    """As the table under the chart has it."""
    words: str


@dataclass(frozen=True, slots=True)
class Axis:
    """The time of a chart, from 0, and how a moment of it is written."""

    duration_s: float
    label: Callable[[float], str]

    def x(self, at_s: float) -> float:
        """Where a moment is, in pixels."""
        return LEFT + at_s / self.duration_s * (WIDTH - LEFT - 20)


def document(title: str, words: str, chart: str, marks: Iterable[Mark]) -> str:
    """A page with a title, one paragraph, a chart, and the decisions that it numbers."""
    rows = "".join(
        f"<tr><td class=n>{mark.number}</td><td>{escape(mark.time)}</td>"
        f"<td>{escape(mark.words)}</td></tr>"
        for mark in marks
    )
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title>"
        f"<style>{STYLE}</style><h1>{escape(title)}</h1><p>{escape(words)}</p>"
        f"{chart}<h2>Decisions</h2>"
        f"<table><tr><th>no.<th>when<th>decision</tr>{rows}</table></html>\n"
    )


def svg(panels: Sequence[Panel], axis: Axis, marks: Iterable[Mark]) -> str:
    """Panels below each other, with the marks as dotted lines through all of them."""
    high = TOP + len(panels) * (HEIGHT + GAP)
    lines = "".join(
        f"<line x1={axis.x(mark.at_s):.1f} x2={axis.x(mark.at_s):.1f} y1={TOP} y2={high - GAP}"
        f" stroke=#bbb stroke-dasharray='2 4'/><text x={axis.x(mark.at_s) + 2:.1f}"
        f" y={TOP - 24 - 12 * (mark.number % 2)} class=n>{mark.number}</text>"
        for mark in marks
    )
    tops = (TOP + index * (HEIGHT + GAP) for index in range(len(panels)))
    parts = [_panel(panel, top, axis.x) for panel, top in zip(panels, tops, strict=True)]
    last = high - GAP + 16
    times = "".join(
        f"<text x={axis.x(axis.duration_s * share):.1f} y={last} text-anchor={anchor}>"
        f"{escape(axis.label(axis.duration_s * share))}</text>"
        for share, anchor in ANCHORS
    )
    body = "".join([lines, *parts, times])
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

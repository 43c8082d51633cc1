"""A dashboard as a picture: each panel as its JSON says, from what a real Prometheus answers.

`python -m dev.dashboards.picture URL --pipeline NAMESPACE/NAME` draws both of the chart's.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import matplotlib as mpl
from dev.dashboards.answers import Series, Window, ask
from dev.dashboards.board import COLUMNS, Json
from dev.dashboards.values import COLORS, color_of, shown, table_of

mpl.use("Agg")
from matplotlib import dates
from matplotlib import pyplot as plt

WIDTH_IN, UNIT_IN, GAP_IN = 18.0, 0.34, 0.09
INK, PAPER, PANEL, FAINT = "#d8d9da", "#111217", "#181b1f", "#7b8087"
PALETTE = ("#73bf69", "#f2cc0c", "#8ab8ff", "#ff780a", "#f2495c", "#5794f2", "#b877d9", "#37872d")
BOARDS = Path("charts/trimtab/files/dashboards")

Answers = Callable[[Json], list[list[Series]]]
"""Series by query of a panel."""


def draw(board: Json, answers: Answers, window: Window, path: Path) -> None:
    """Write the picture of a dashboard as a PNG."""
    rows = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in board["panels"])
    height_in = (rows + 2) * UNIT_IN
    figure = plt.figure(figsize=(WIDTH_IN, height_in), facecolor=PAPER)
    head = " · ".join([board["title"], *map(str, window.variables.values())])
    figure.text(0.008, 1 - 0.9 * UNIT_IN / height_in, head, color=INK, fontsize=14, va="center")
    for panel in board["panels"]:
        at = panel["gridPos"]
        left, width = at["x"] / COLUMNS, at["w"] / COLUMNS
        top, high = (at["y"] + 2) * UNIT_IN, at["h"] * UNIT_IN
        box = (
            left + GAP_IN / 2 / WIDTH_IN,
            1 - (top + high - GAP_IN / 2) / height_in,
            width - GAP_IN / WIDTH_IN,
            (high - GAP_IN) / height_in,
        )
        if panel["type"] == "row":
            figure.text(box[0], box[1] + box[3] / 2, panel["title"], color=INK, va="center")
            continue
        _panel(figure, panel, box, answers(panel), window)
    figure.savefig(path, dpi=72, facecolor=PAPER)
    plt.close(figure)


def _panel(
    figure: Any, panel: Json, box: Sequence[float], found: list[list[Series]], window: Window
) -> None:
    """One panel: its frame and title, and inside what its kind shows."""
    frame = figure.add_axes(box, facecolor=PANEL)
    frame.set(xticks=[], yticks=[])
    frame.spines[:].set_color("#2c3235")
    frame.set_title(panel["title"], color=INK, fontsize=9, loc="left", y=1.0, pad=-12, x=0.01)
    left, bottom, width, high = box
    margin = 0.07 if panel["type"] in {"state-timeline", "bargauge"} else 0.034
    inner = figure.add_axes(
        (left + margin, bottom + 0.2 * high, width - margin - 0.01, 0.62 * high), facecolor=PANEL
    )
    series = [each for part in found for each in part]
    if not series:
        inner.axis("off")
        inner.text(0.5, 0.5, "No data", color=FAINT, ha="center", va="center")
        return
    KINDS[panel["type"]](inner, panel, found, window)


def _lines(axes: Any, panel: Json, found: list[list[Series]], window: Window) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    custom = defaults["custom"]
    series = [each for part in found for each in part]
    fixed = {
        each["matcher"]["options"]: COLORS[each["properties"][0]["value"]["fixedColor"]]
        for each in panel["fieldConfig"]["overrides"]
    }
    stacked = custom.get("stacking", {}).get("mode") == "normal"
    bars, base = custom.get("drawStyle") == "bars", dict[float, float]()
    for number, each in enumerate(series):
        color = fixed.get(each.name, PALETTE[number % len(PALETTE)])
        at = [t / 86400 for t, _ in each.points]
        low = [base.get(t, 0.0) if stacked else 0.0 for t, _ in each.points]
        high = [b + v for b, (_, v) in zip(low, each.points, strict=True)]
        if bars:
            axes.bar(at, [v for _, v in each.points], window.step_s / 86400, low, color=color)
        else:
            axes.plot(at, high, color=color, linewidth=1.1)
            if custom.get("fillOpacity"):
                axes.fill_between(at, low, high, color=color, alpha=custom["fillOpacity"] / 100)
        base |= dict(zip((t for t, _ in each.points), high, strict=True))
        axes.plot([], [], color=color, linewidth=3, label=each.name)
    _time_axis(axes, window)
    axes.set_ylim(bottom=min(0.0, *(v for each in series for _, v in each.points)))
    axes.yaxis.set_major_formatter(lambda value, _: shown(value, defaults["unit"]))
    axes.grid(color="#2c3235", linewidth=0.6)
    axes.legend(
        loc="upper left", bbox_to_anchor=(-0.02, -0.12), ncols=4, fontsize=6.5, frameon=False,
        labelcolor=INK, handlelength=1.0, columnspacing=1.0,
    )  # fmt: skip


def _time_axis(axes: Any, window: Window) -> None:
    axes.set_xlim(window.start_s / 86400, window.end_s / 86400)
    axes.xaxis.set_major_formatter(dates.DateFormatter("%H:%M"))
    axes.xaxis.set_major_locator(dates.AutoDateLocator(maxticks=7))
    axes.tick_params(colors=FAINT, labelsize=7, length=0)
    axes.spines[:].set_visible(False)


def _stat(axes: Any, panel: Json, found: list[list[Series]], _: Window) -> None:
    axes.axis("off")
    each = found[0][0]
    defaults = panel["fieldConfig"]["defaults"]
    words = each.name if panel["options"]["textMode"] == "name" else shown(
        each.last, defaults["unit"], defaults.get("mappings", ())
    )  # fmt: skip
    color = color_of(each.last, defaults, PALETTE[0])
    axes.text(0.4, 0.35, words, color=color, fontsize=20, ha="center", va="center")


def _timeline(axes: Any, panel: Json, found: list[list[Series]], window: Window) -> None:
    series = found[0]
    for row, each in enumerate(reversed(series)):
        for at, value in each.points:
            color = color_of(value, panel["fieldConfig"]["defaults"], PALETTE[2])
            axes.barh(row, window.step_s / 86400, 0.8, at / 86400, color=color, alpha=0.7)
    axes.set_yticks(range(len(series)), [each.name for each in reversed(series)])
    _time_axis(axes, window)


def _ranking(axes: Any, panel: Json, found: list[list[Series]], _: Window) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    series = sorted(found[0], key=lambda each: each.last)
    colors = [color_of(each.last, defaults, PALETTE[0]) for each in series]
    axes.barh([each.name for each in series], [each.last for each in series], 0.6, color=colors)
    for row, each in enumerate(series):
        axes.text(each.last, row, f" {shown(each.last, defaults['unit'])}", color=INK, va="center")
    axes.tick_params(colors=FAINT, labelsize=7, length=0)
    axes.set_xticks([])
    axes.spines[:].set_visible(False)


def _table(axes: Any, panel: Json, found: list[list[Series]], _: Window) -> None:
    axes.axis("off")
    columns, cells = table_of(panel, found)
    made = axes.table(
        cellText=cells, colLabels=columns, loc="upper left", cellLoc="left", edges="horizontal"
    )
    made.auto_set_font_size(value=False)
    made.set_fontsize(8)
    made.scale(1, 1.3)
    for cell in made.get_celld().values():
        cell.get_text().set_color(INK)
        cell.set_edgecolor("#2c3235")


KINDS: dict[str, Callable[[Any, Json, list[list[Series]], Window], None]] = {
    "timeseries": _lines, "stat": _stat, "state-timeline": _timeline, "bargauge": _ranking,
    "table": _table,
}  # fmt: skip


def _variables(pipeline: str) -> Iterator[tuple[str, dict[str, str]]]:
    namespace, _, name = pipeline.partition("/")
    yield "fleet", {"namespace": ".*"}
    yield "pipeline", {"namespace": namespace, "pipeline": name}


@click.command()
@click.argument("url")
@click.option("--pipeline", required=True, help="NAMESPACE/NAME")
@click.option("--minutes", default=15.0, help="how far back the pictures go")
@click.option("--scrape", "scrape_s", default=5.0, help="seconds between two scrapes")
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/dashboards"))
def main(url: str, pipeline: str, minutes: float, scrape_s: float, out: Path) -> None:
    """Draw both dashboards from the Prometheus at URL."""
    out.mkdir(parents=True, exist_ok=True)
    now_s = time.time()
    for name, variables in _variables(pipeline):
        step_s = max(scrape_s, minutes * 60 / 240)
        window = Window(now_s - minutes * 60, now_s, step_s, scrape_s, variables)
        board = json.loads((BOARDS / f"{name}.json").read_text())
        draw(board, partial(_answers, url, window), window, out / f"{name}.png")
        click.echo(out / f"{name}.png")


def _answers(url: str, window: Window, panel: Json) -> list[list[Series]]:
    return [ask(url, each, window) for each in panel["targets"]]


if __name__ == "__main__":
    main()

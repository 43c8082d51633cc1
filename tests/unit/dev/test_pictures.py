"""Pictures of the dashboards: what a panel's JSON makes of what Prometheus answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from dev.dashboards.answers import Series, Window, named
from dev.dashboards.board import Json
from dev.dashboards.picture import BOARDS, draw
from dev.dashboards.values import color_of, shown, table_of

WINDOW = Window(0.0, 900.0, 5.0, 5.0, {"namespace": "shop", "pipeline": "orders"})


def one(value: float, name: str = "a", **labels: str) -> Series:
    return Series(name, labels, ((0.0, value), (5.0, value)))


def panel(board: str, title: str, kind: str) -> Json:
    panels = json.loads((BOARDS / f"{board}.json").read_text())["panels"]
    found: Json = next(p for p in panels if (p["title"], p["type"]) == (title, kind))
    return found


def test_queries_are_filled_in_as_grafana_does() -> None:
    asked = 'rate(x{namespace="$namespace", p="${pipeline}"}[$__rate_interval]) or y[$__range]'
    assert WINDOW.filled_in(asked) == 'rate(x{namespace="shop", p="orders"}[20s]) or y[900s]'


def test_series_are_named_by_their_legend() -> None:
    labels = {"__name__": "x", "action": "Keep", "reason": "GoalMet"}
    assert named("{{action}} {{ reason }}{{none}}", labels) == "Keep GoalMet"
    assert named("__auto", labels) == "Keep, GoalMet"


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0.853, "percentunit", "85.3%"), (1.5, "s", "1.5 s"), (12_345, "short", "12.3 K"),
        (7, "none", "7"), (2.5e6, "short", "2.5 Mil"),
    ],
)  # fmt: skip
def test_values_have_their_unit(value: float, unit: str, words: str) -> None:
    assert shown(value, unit) == words


def test_mappings_and_thresholds_decide_words_and_colors() -> None:
    goal = panel("pipeline", "Goal met", "stat")["fieldConfig"]["defaults"]
    assert shown(1.0, goal["unit"], goal["mappings"]) == "yes"
    load = panel("pipeline", "Load", "stat")["fieldConfig"]["defaults"]
    colors = [color_of(value, load, "") for value in (0.5, 0.9, 1.2)]
    assert len(set(colors)) == 3
    assert color_of(0.0, goal, "") == colors[-1], "no is as red as too much"


def test_a_table_has_one_line_for_each_pipeline() -> None:
    fleet = panel("fleet", "Pipelines", "table")
    found: Sequence[Sequence[Series]] = [
        [one(1, pipeline_namespace="a", pipeline=name) for name in "xy"],
        [one(1, pipeline_namespace="a", pipeline="x", mode="Auto")],
        [one(0.5, pipeline_namespace="a", pipeline="y")],
        *([] for _ in range(4)),
    ]
    columns, cells = table_of(fleet, found)
    assert columns == ["namespace", "pipeline", "goal met", "mode", "load"]
    assert cells == [["a", "x", "yes", "Auto", ""], ["a", "y", "yes", "", "50%"]]


@pytest.mark.parametrize("name", ["fleet", "pipeline"])
def test_each_panel_is_drawn_with_data_and_without(tmp_path: Path, name: str) -> None:
    board = json.loads((BOARDS / f"{name}.json").read_text())

    def some(panel: Json) -> list[list[Series]]:
        labels = {"pipeline_namespace": "shop", "pipeline": "orders"}
        return [[one(n + 1.0, f"s{n}", **labels)] for n, _ in enumerate(panel["targets"])]

    for at, answers in enumerate((some, lambda _: [[]])):
        path = tmp_path / f"{at}.png"
        draw(board, answers, WINDOW, path)
        assert path.read_bytes()[:4] == b"\x89PNG"

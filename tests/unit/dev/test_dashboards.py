"""The dashboards as Grafana's JSON has to be, and as dev.dashboards writes it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dev.dashboards.__main__ import BOARDS, text
from dev.dashboards.board import COLUMNS

FOLDER = Path("charts/trimtab/files/dashboards")
Json = dict[str, Any]
BUILT_IN = {"__rate_interval", "__range", "__data", "__all"}
"""Variables that Grafana has by itself."""


@pytest.fixture(params=sorted(BOARDS))
def board(request: pytest.FixtureRequest) -> Json:
    found: Json = json.loads((FOLDER / f"{request.param}.json").read_text())
    return found


def panels(board: Json) -> list[Json]:
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def test_the_chart_has_what_is_generated() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(BOARDS)
    for name in BOARDS:
        assert (FOLDER / f"{name}.json").read_text() == text(name), "run `make generate`"


def test_ids_are_unique_and_everything_has_a_title(board: Json) -> None:
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    assert all(panel["title"] for panel in board["panels"])
    assert all(panel["description"].endswith(".") for panel in panels(board))
    assert len({(panel["type"], panel["title"]) for panel in panels(board)}) == len(panels(board))


def test_panels_lie_inside_the_grid_and_apart(board: Json) -> None:
    places = [panel["gridPos"] for panel in board["panels"]]
    for place in places:
        assert place["x"] >= 0
        assert place["x"] + place["w"] <= COLUMNS
        assert min(place["w"], place["h"]) >= 1
    for one, other in itertools.combinations(places, 2):
        apart = (
            one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        )  # fmt: skip
        assert apart, (one, other)


def datasources(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        if "datasource" in node:
            yield node["datasource"]
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from datasources(each)


def test_the_chosen_data_source_is_asked_everywhere(board: Json) -> None:
    assert board["templating"]["list"][0]["name"] == "datasource"
    assert {json.dumps(each) for each in datasources(board)} == {
        json.dumps({"type": "prometheus", "uid": "${datasource}"})
    }
    asked = [target for panel in panels(board) for target in panel["targets"]]
    assert all("datasource" in each for each in (*panels(board), *asked))


def test_every_variable_is_declared_and_used(board: Json) -> None:
    declared = {variable["name"] for variable in board["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps([board["panels"], board["templating"]])))
    assert used - BUILT_IN == declared


def test_targets_have_letters_of_their_own_and_are_asked_as_they_are_shown(board: Json) -> None:
    for panel in panels(board):
        letters = [target["refId"] for target in panel["targets"]]
        assert letters == [chr(ord("A") + n) for n in range(len(letters))]
        for target in panel["targets"]:
            assert target["instant"] is not target["range"]
            assert (target["format"] == "table") is (panel["type"] == "table")


def test_a_table_names_the_value_of_each_query_and_shows_each_column_it_formats() -> None:
    for name in BOARDS:
        for panel in panels(BOARDS[name]().as_json()):
            if panel["type"] == "table":
                organize = panel["transformations"][-1]["options"]
                values = [n for n in organize["renameByName"] if n.startswith("Value")]
                assert len(values) == len(panel["targets"])
                shown = set(organize["renameByName"].values()) | {"pipeline"}
                styled = {each["matcher"]["options"] for each in panel["fieldConfig"]["overrides"]}
                assert styled <= shown


def test_a_link_leads_to_a_dashboard_that_is_there() -> None:
    boards = {name: BOARDS[name]().as_json() for name in BOARDS}
    uids = {board["uid"] for board in boards.values()}
    assert len(uids) == len(boards)
    linked = re.findall(r"/d/([\w-]+)\?([^\"]*)", json.dumps(boards["fleet"]))
    assert linked
    for uid, arguments in linked:
        assert uid in uids
        (target,) = (board for board in boards.values() if board["uid"] == uid)
        variables = {f"var-{variable['name']}" for variable in target["templating"]["list"]}
        assert {argument.split("=")[0] for argument in arguments.split("&")} == variables

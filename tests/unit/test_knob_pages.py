"""The pages of the knobs: one for each, with the fields, limits and bottlenecks of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trimtab.api.knobs import BY_NAME, FIXED_KNOBS, KNOBS, Knob
from trimtab.tuning.knobs import LADDER

FOLDER = Path(__file__).parents[2] / "docs" / "knobs"
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
API = {**KNOBS, **BY_NAME}
HEADINGS = (
    "When it moves", "What a move costs", "How it is judged", "Pin or limit it", "What it becomes",
)  # fmt: skip


def facts(path: Path) -> dict[str, str]:
    """The rows of the table at the beginning of a page."""
    rows = re.findall(r"^\| (\w[\w ]*) \| (.*) \|$", path.read_text(), re.M)
    return dict(rows[:7])


def words(path: Path, row: str) -> list[str]:
    return re.findall("`([^`]+)`", facts(path)[row])


@pytest.mark.parametrize("name", API)
def test_every_knob_of_the_api_has_one_page(name: str) -> None:
    assert len([path for path in PAGES if name in words(path, "Field")]) == 1


@pytest.mark.parametrize("knob", LADDER, ids=lambda knob: knob.name)
def test_every_knob_of_the_law_has_a_page_that_names_its_field(knob: Knob) -> None:
    pages = [path for path in PAGES if knob.name in words(path, "In the law")]
    fields = {field for path in pages for field in words(path, "Field")}
    assert knob.values[0].name in fields


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_says_what_the_code_says(path: Path) -> None:
    told, text = facts(path), path.read_text()
    law = [knob for knob in LADDER if knob.name in words(path, "In the law")]
    assert {knob.name for knob in law} == set(words(path, "In the law"))
    assert {str(kind) for knob in law for kind in knob.moves} == set(words(path, "Relieves"))
    for field in (API[name] for name in words(path, "Field")):
        how = {"live": "live", "query": "query restart", "driver": "driver restart"}[field.how]
        assert told["Change"] == how
        assert all(field.format(n) in told["Range"] for n in (field.minimum, field.maximum))
        assert bool(law) == (field not in FIXED_KNOBS)
    assert re.findall("^## (.*)$", text, re.M) == list(HEADINGS)


def test_the_overview_links_every_page() -> None:
    text = (FOLDER / "README.md").read_text()
    assert [path.name for path in PAGES if f"]({path.name})" not in text] == []

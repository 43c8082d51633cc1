"""One table of figures: what is exported, asked for and documented is the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trimtab.api.figure import PREFIX, Reader
from trimtab.api.figures import DRIVER, OPERATOR
from trimtab.api.figures_page import filled
from trimtab.api.pipeline_figures import PIPELINE
from trimtab.reconcile.observe.queries import queries

PAGE = Path("docs/metrics.md")


def test_every_name_is_there_once() -> None:
    names = [figure.name for figure in (*DRIVER, *OPERATOR, *PIPELINE)]
    assert len(set(names)) == len(names)


def test_the_page_says_what_the_table_says() -> None:
    page = PAGE.read_text()
    assert filled(page) == page, "run `make generate`"


def test_every_query_names_what_a_driver_exports() -> None:
    asked = " ".join(queries(5.0).values())
    named = set(re.findall(rf"\b{PREFIX}([a-z_]+)", asked)) - {""}
    gauges = re.search(rf"{PREFIX}\(([a-z_|]+)\)", asked)
    assert gauges
    named |= set(gauges.group(1).split("|"))
    exported = {figure.series for figure in DRIVER}
    assert named <= exported
    read = {figure.series for figure in DRIVER if figure.reader is not Reader.PEOPLE}
    assert named == read, "the table says who reads a figure"


@pytest.mark.parametrize(
    "page", ["docs/metrics.md", "docs/runbook.md", "docs/tuning.md", "docs/api.md", "README.md"]
)
def test_the_docs_name_what_is_exported(page: str) -> None:
    known = {figure.series for figure in (*DRIVER, *OPERATOR, *PIPELINE)}
    named = set(re.findall(rf"\b{PREFIX}([a-z][a-z_]+)", Path(page).read_text()))
    assert {name for name in named if name.removesuffix("_bucket") not in known} == set()


def test_every_figure_is_exported() -> None:
    sources = ("job/telemetry/metrics.py", "adapters/telemetry.py")
    code = "".join(Path(f"operator/trimtab/{source}").read_text() for source in sources)
    assert [f.name for f in (*DRIVER, *OPERATOR) if f'"{f.name}"' not in code] == []
    parts = ("gauges.py", "cost.py")
    said = "".join(Path(f"operator/trimtab/reconcile/status/{p}").read_text() for p in parts)
    names = [figure.name.removeprefix("pipeline_") for figure in PIPELINE]
    assert [name for name in names if f'"{name}"' not in said] == []

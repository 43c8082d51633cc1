"""`trimtab report`: one page about a pipeline, from its history and what Prometheus recorded."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import yaml
from click.testing import CliRunner
from tests.unit.cli.test_explain import pipeline
from tests.unit.cli.test_history import KEPT, RAISED, RELEASED
from tests.unit.workloads.manifests import Json

from trimtab.api.common import moment
from trimtab.api.history import HISTORY_KEY, packed
from trimtab.cli import main
from trimtab.cli.report import Found, Span, queries, recorded, report

SPAN = Span(moment("2026-01-01T09:00:00Z"), moment("2026-01-01T15:00:00Z"))
ENTRIES = (RAISED, KEPT, RELEASED)


def drawn(page: str) -> dict[str, list[tuple[float, float]]]:
    """The lines of the chart, by title, in pixels."""
    found = re.findall(r"<polyline points='([^']*)'[^>]*><title>(.*?)</title>", page)
    return {
        title: [(float(x), float(y)) for x, y in (p.split(",") for p in points.split())]
        for points, title in found
    }


def test_the_decisions_in_its_time_are_numbered_on_the_chart_and_told_below() -> None:
    page = report(pipeline(), Found(ENTRIES), SPAN)
    assert "<h1>n/clicks: 2026-01-01T09:00:00Z to 2026-01-01T15:00:00Z</h1>" in page
    for number, entry in enumerate(ENTRIES, 1):
        assert f"<td class=n>{number}</td><td>{entry.time}</td>" in page
    late = Span(moment("2026-01-01T12:00:00Z"), SPAN.end_s)
    assert "<td class=n>2</td>" not in report(pipeline(), Found(ENTRIES), late)


def test_settings_hold_from_one_decision_to_the_next_and_to_the_end() -> None:
    lines = drawn(report(pipeline(), Found(ENTRIES), SPAN))
    heights = [y for _, y in lines["executors"]]
    assert heights[0] < heights[-1], "three executors are above two"
    assert lines["executors"][-1][0] == 980.0, "the end of the time"


def test_what_prometheus_recorded_is_drawn_and_the_goal_judged_by_it() -> None:
    times = [SPAN.start_s + 600 * n for n in range(36)]
    series = {
        "observed": [(t, 9.0) for t in times], "input": [(t, 250.0) for t in times],
        "met": [(t, float(n >= 9)) for n, t in enumerate(times)],
    }  # fmt: skip
    page = report(pipeline(), Found(ENTRIES, series), SPAN)
    assert "held in 75.0% of the time" in page
    assert "shaded: above the goal" in page
    assert len(drawn(page)["observed"]) == 36
    unknown = report(pipeline(), Found(ENTRIES), SPAN)
    assert "Goal p95 latency" in unknown or "Goal p95" in unknown
    assert "not recorded" in unknown


def test_each_query_names_the_one_pipeline_and_empty_answers_are_left_out() -> None:
    asked = queries("n", "clicks", rate=False)
    assert all('namespace="n"' in q and 'pipeline="clicks"' in q for q in asked.values())
    found = recorded(pipeline(), lambda promql: [(1.0, 2.0)] if "load_ratio" in promql else [])
    assert found == {"load": [(1.0, 2.0)]}


def test_text_of_others_cannot_become_markup() -> None:
    evil = RAISED.model_copy(update={"message": "<script>alert(1)</script>"})
    page = report(pipeline(), Found((evil,)), SPAN)
    assert "<script" not in page
    (chart,) = re.findall(r"<svg.*?</svg>", page, re.S)
    assert ElementTree.fromstring(re.sub(r"=([^'\s>/]+)", r"='\1'", chart)) is not None


def history() -> Json:
    meta = {"name": "clicks-history", "namespace": "n"}
    document: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    return document | {"binaryData": {HISTORY_KEY: packed(ENTRIES)}}


def test_both_objects_of_a_file_make_the_page(tmp_path: Path) -> None:
    file, page = tmp_path / "objects.yaml", tmp_path / "page.html"
    items = {"apiVersion": "v1", "kind": "List", "items": [pipeline(), history()]}
    file.write_text(yaml.safe_dump(items))
    done = CliRunner().invoke(main, ["report", "-f", str(file), "--html", str(page)])
    assert done.exit_code == 0, done.output
    assert done.output == f"{page}: 3 decisions are known\n"
    assert page.read_text().startswith("<!doctype html>")
    file.write_text(yaml.safe_dump(pipeline()))
    done = CliRunner().invoke(main, ["report", "-f", str(file), "--html", str(page)])
    assert "0 decisions are known" in done.output
    assert CliRunner().invoke(main, ["report"]).exit_code == 2

"""The alerts as a plain file: complete, explained, and on metrics that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from trimtab.api.figure import PREFIX, Figure, Type
from trimtab.api.figures import DRIVER, OPERATOR
from trimtab.api.pipeline_figures import PIPELINE
from trimtab.api.v1alpha1.status import ConditionType

Json = dict[str, Any]
CHART = Path("charts/trimtab")
GROUPS = yaml.safe_load((CHART / "files/rules.yaml").read_text())["groups"]
RULES: dict[str, Json] = {rule["alert"]: rule for group in GROUPS for rule in group["rules"]}
RUNBOOK = Path("docs/runbook.md").read_text()
SEVERITIES = {"critical", "warning"}
PARTS = ("Means", "Causes", "Look at", "Do")


SCRAPED = {"namespace", "pipeline", "pod", "instance", "job"}
"""Labels that the scrape adds to those of an exporter."""

FIGURES: dict[str, Figure] = {
    f"{figure.series}{suffix}": figure
    for figure in (*DRIVER, *OPERATOR, *PIPELINE)
    for suffix in (
        {Type.HISTOGRAM: ("_bucket", "_count", "_sum"), Type.SUMMARY: ("", "_count", "_sum")}
    ).get(figure.type, ("",))
}


def expressions() -> list[tuple[str, str]]:
    """Every query of alerts and dashboards, with where it is from."""
    found = [(name, rule["expr"]) for name, rule in RULES.items()]
    for path in sorted((CHART / "files/dashboards").glob("*.json")):
        board = json.loads(path.read_text())
        for panel in board["panels"]:
            where = f"{path.stem}: {panel['title']}"
            found += [(where, target["expr"]) for target in panel.get("targets", ())]
        variables = board["templating"]["list"]
        found += [(f"{path.stem}: ${v['name']}", v["definition"]) for v in variables[1:]]
    return found


QUERIES = expressions()


@pytest.mark.parametrize(("where", "query"), QUERIES)
def test_a_query_names_what_is_exported_with_its_labels(where: str, query: str) -> None:
    series = re.findall(rf"\b{PREFIX}([a-z_]+)(?:{{(.*?)}})?", query)
    assert series or "ALERTS" in query
    for name, matchers in series:
        assert name in FIGURES, "no figure of the tables"
        labels = set(re.findall(r"(\w+)(?:=~|!~|!=|=)\"", matchers))
        assert labels <= {*FIGURES[name].labels, *SCRAPED}
        for label, value in re.findall(r'(\w+)="([^"$]+)"', matchers):
            values = FIGURES[name].labels.get(label, "")
            named = re.fullmatch(r"[\w.]+(, [\w.]+)*", values) is not None  # else in words, or free
            assert not named or value in values.split(", "), (label, value)
    conditions = re.findall(r'condition{[^}]*type=~?"([\w|]+)"', query)
    assert {word for each in conditions for word in each.split("|")} <= {*map(str, ConditionType)}


@pytest.mark.parametrize("name", RULES)
def test_an_alert_says_what_on_call_needs(name: str) -> None:
    rule = RULES[name]
    assert re.fullmatch("Trimtab[A-Z][A-Za-z]+", name)
    assert rule["labels"]["severity"] in SEVERITIES
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    assert rule["annotations"]["description"].endswith(".")
    assert rule["annotations"]["runbook_url"] == f"docs/runbook.md#{name.lower()}"


@pytest.mark.parametrize("name", RULES)
def test_words_use_labels_that_the_expression_leaves(name: str) -> None:
    rule = RULES[name]
    left = re.search(r"by \(([a-z_, ]+)\)", rule["expr"])
    labels = set(left.group(1).split(", ")) if left else set()
    words = json.dumps([rule["annotations"], rule["labels"]])
    assert set(re.findall(r"\$labels\.(\w+)", words)) <= labels
    assert "namespace" in {*labels, *rule["labels"]} or not labels


def test_the_runbook_has_a_section_for_each_alert() -> None:
    titles = re.findall(r"^## (Trimtab\w+)$", RUNBOOK, re.M)
    assert titles == list(RULES)
    for section in RUNBOOK.split("\n## ")[1:]:
        said = re.findall(r"^\*\*(.+?)\.\*\*", section, re.M)
        if section.startswith("Trimtab"):
            assert tuple(said) == PARTS, section.splitlines()[0]


def test_the_values_know_each_alert_and_each_threshold() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    rules = schema["properties"]["monitoring"]["properties"]["rules"]["properties"]
    assert list(rules["alerts"]["properties"]) == list(RULES)
    told = (CHART / "values.yaml").read_text().split("Thresholds:")[1].split("alerts: {}")[0]
    settable = {name for name, rule in RULES.items() if re.search("[<>] [0-9.]+$", rule["expr"])}
    assert set(re.findall(r"Trimtab\w+", told)) == settable

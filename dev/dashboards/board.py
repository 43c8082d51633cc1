"""A Grafana dashboard as data: rows of panels, and the JSON that Grafana imports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

COLUMNS = 24
"""The width of Grafana's grid."""

SCHEMA_VERSION = 39
"""Of the JSON, as Grafana 10.4 wrote it; newer ones bring it up to date when they load it."""

DATASOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True, slots=True)
class Query:
    """A query of PromQL, and the name of its series in Grafana's braces."""

    expr: str
    legend: str = ""

    def target(self, number: int, *, instant: bool, table: bool) -> Json:
        """As a panel's target with that number, from 0."""
        return {
            "refId": chr(ord("A") + number),
            "datasource": DATASOURCE,
            "expr": self.expr,
            "legendFormat": self.legend or "__auto",
            "instant": instant,
            "range": not instant,
            "format": "table" if table else "time_series",
        }


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel; `fields` and `options` are Grafana's own, beside those of its kind."""

    title: str
    about: str
    queries: tuple[Query, ...]
    width: int
    kind: str = "timeseries"
    unit: str = "short"
    fields: Json = field(default_factory=dict)
    custom: Json = field(default_factory=dict)
    options: Json = field(default_factory=dict)
    overrides: tuple[Json, ...] = ()
    transformations: tuple[Json, ...] = ()

    def as_json(self, number: int, place: Json) -> Json:
        """As Grafana has it, with its id and its place on the grid."""
        instant = self.kind in {"stat", "table", "bargauge"}
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.about,
            "gridPos": place,
            "datasource": DATASOURCE,
            "targets": [
                query.target(n, instant=instant, table=self.kind == "table")
                for n, query in enumerate(self.queries)
            ],
            "fieldConfig": {
                "defaults": {"unit": self.unit, "custom": self.custom, **self.fields},
                "overrides": list(self.overrides),
            },
            "options": self.options,
            "transformations": list(self.transformations),
        }


@dataclass(frozen=True, slots=True)
class Row:
    """Panels side by side, with a height in units of the grid; a title begins a section."""

    height: int
    panels: tuple[Panel, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard."""

    uid: str
    title: str
    about: str
    variables: Sequence[Json]
    rows: Sequence[Row]

    def as_json(self) -> Json:
        """What Grafana imports."""
        return {
            "uid": self.uid,
            "title": self.title,
            "description": self.about,
            "tags": ["trimtab"],
            "schemaVersion": SCHEMA_VERSION,
            "editable": True,
            "graphTooltip": 1,
            "refresh": "30s",
            "time": {"from": "now-3h", "to": "now"},
            "timezone": "browser",
            "annotations": {"list": []},
            "links": [
                {"type": "dashboards", "title": "trimtab", "tags": ["trimtab"], "asDropdown": True,
                 "includeVars": True, "keepTime": True},
            ],
            "templating": {"list": [_datasource(), *self.variables]},
            "panels": list(_placed(self.rows)),
        }  # fmt: skip


def _placed(rows: Sequence[Row]) -> Iterator[Json]:
    """All panels with ids and places: rows from top to bottom, panels from left to right."""
    number, y = 1, 0
    for row in rows:
        if row.title:
            place = {"x": 0, "y": y, "w": COLUMNS, "h": 1}
            yield {"id": number, "type": "row", "title": row.title, "gridPos": place,
                   "collapsed": False, "panels": []}  # fmt: skip
            number, y = number + 1, y + 1
        x = 0
        for panel in row.panels:
            yield panel.as_json(number, {"x": x, "y": y, "w": panel.width, "h": row.height})
            number, x = number + 1, x + panel.width
        y += row.height


def _datasource() -> Json:
    return {"name": "datasource", "label": "Data source", "type": "datasource",
            "query": "prometheus", "refresh": 1, "current": {}, "options": []}  # fmt: skip


def variable(name: str, label: str, values: str, *, many: bool = False) -> Json:
    """A variable whose values are those of a query; `many` may be chosen, or all."""
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": DATASOURCE,
        "definition": values,
        "query": {"query": values, "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": many,
        "includeAll": many,
        "allValue": ".*" if many else None,
        "current": {"text": ["All"], "value": ["$__all"]} if many else {},
        "options": [],
    }


def mappings(words: Mapping[str, tuple[str, str]]) -> Json:
    """Values shown as words in colors, as a panel's `fields`."""
    options = {
        value: {"text": text, "color": color, "index": index}
        for index, (value, (text, color)) in enumerate(words.items())
    }
    return {"mappings": [{"type": "value", "options": options}], "color": {"mode": "thresholds"}}


def steps(*limits: tuple[float | None, str]) -> Json:
    """Colors from limits on, the first without one, as a panel's `fields`."""
    found = [{"value": limit, "color": color} for limit, color in limits]
    return {"thresholds": {"mode": "absolute", "steps": found}, "color": {"mode": "thresholds"}}

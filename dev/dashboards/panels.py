"""The kinds of panels that both dashboards use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dev.dashboards.board import Json, Panel, Query, mappings, steps

BY = "by (pipeline_namespace, pipeline)"
"""Without the labels of the operator's pod: of two operators only one reports a pipeline."""

LINES: Json = {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 0, "showPoints": "never"}
STACKED: Json = LINES | {"fillOpacity": 40, "stacking": {"mode": "normal", "group": "A"}}
BARS: Json = {"drawStyle": "bars", "lineWidth": 0, "fillOpacity": 80,
              "stacking": {"mode": "normal", "group": "A"}}  # fmt: skip
YES_NO = mappings({"0": ("no", "red"), "1": ("yes", "green")})
TRUE_FALSE = mappings({"0": ("False", "text"), "1": ("True", "blue")})
NO_YES = mappings({"0": ("no", "text"), "1": ("yes", "blue")})
"""Where neither is better."""

NONE_IS_GOOD = steps((None, "green"), (1, "red"))


def grown(series: str, window: str) -> str:
    """How much counters have grown in a window, also those that began in it.

    `increase` knows nothing of a series before its first sample, and many a decision is the first
    of its reason.
    """
    before = f"{series} offset {window}"
    return f"(({series} - {before}) >= 0 or ({series} unless {before}))"


def lines(title: str, about: str, *queries: Query, width: int = 12, **more: Any) -> Panel:
    """Series over time."""
    shown = {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return Panel(title, about, queries, width, options=shown, **{"custom": LINES} | more)


def stat(title: str, about: str, query: Query, width: int = 4, **more: Any) -> Panel:
    """One number."""
    shown = {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "colorMode": "value",
        "graphMode": "none",
        "textMode": "auto",
    }
    return Panel(title, about, (query,), width, kind="stat", options=shown, **more)


def words(title: str, about: str, query: Query, width: int = 4) -> Panel:
    """One word: the name of the series whose value is 1."""
    made = stat(title, about, query, width, fields=steps((None, "text")))
    return replace(made, options=made.options | {"textMode": "name"})


def timeline(title: str, about: str, query: Query, width: int = 12, **more: Any) -> Panel:
    """What held when, a bar for each series."""
    shown = {
        "mergeValues": True,
        "showValue": "never",
        "rowHeight": 0.8,
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False},
    }
    bars: Json = {"fillOpacity": 70, "lineWidth": 0}
    return Panel(
        title, about, (query,), width, kind="state-timeline", options=shown, custom=bars, **more
    )


def ranking(title: str, about: str, query: Query, width: int = 8, **more: Any) -> Panel:
    """Bars, the largest first."""
    shown = {
        "orientation": "horizontal",
        "displayMode": "basic",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    }
    return Panel(title, about, (query,), width, kind="bargauge", options=shown, **more)


def table(title: str, about: str, columns: dict[str, Query], width: int, **more: Any) -> Panel:
    """One line for each set of labels.

    `columns` names the value of each query; one that begins with `_` is not shown, because the
    labels of its series say all.
    """
    letters = [f"Value #{chr(ord('A') + n)}" for n in range(len(columns))]
    values = dict(zip(letters if len(columns) > 1 else ["Value"], columns, strict=True))
    hidden = ["Time", "__name__", *(each for each, name in values.items() if name[0] == "_")]
    names = {"pipeline_namespace": "namespace", "alertname": "alert", "alertstate": "state"}
    order = ["pipeline_namespace", "namespace", "pipeline", "knob"]
    order += [name[1:] if name[0] == "_" else value for value, name in values.items()]
    organize = {
        "excludeByName": dict.fromkeys(hidden, True),
        "indexByName": {name: index for index, name in enumerate(order)},
        "renameByName": names | values,
    }
    return Panel(
        title, about, tuple(columns.values()), width, kind="table",
        options={"showHeader": True, "cellHeight": "sm"},
        transformations=(
            {"id": "merge", "options": {}}, {"id": "organize", "options": organize},
        ),
        **more,
    )  # fmt: skip


def painted(series: str, color: str) -> Json:
    """A series in a color of its own."""
    fixed = {"id": "color", "value": {"mode": "fixed", "fixedColor": color}}
    return {"matcher": {"id": "byName", "options": series}, "properties": [fixed]}


def column(name: str, **properties: Any) -> Json:
    """How a column of a table is shown."""
    found = [{"id": key.replace("_", "."), "value": value} for key, value in properties.items()]
    return {"matcher": {"id": "byName", "options": name}, "properties": found}

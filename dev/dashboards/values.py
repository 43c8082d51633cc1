"""Values of a panel in words, colors and cells, by the rules of its JSON."""

from __future__ import annotations

from collections.abc import Sequence

from dev.dashboards.answers import Series
from dev.dashboards.board import Json

COLORS = {
    "green": "#73bf69", "orange": "#ff9830", "red": "#f2495c", "blue": "#5794f2",
    "text": "#8e9297",
}  # fmt: skip
"""Grafana's names as colors of its dark theme."""

SUFFIXES = {"s": " s", "cps": " c/s", "wps": " wr/s", "rps": " rd/s"}


def shown(value: float, unit: str, mappings: Sequence[Json] = ()) -> str:
    """A value as a panel of this unit shows it."""
    for mapping in mappings:
        if (found := mapping["options"].get(f"{value:g}")) is not None:
            return str(found["text"])
    for seconds, suffix in ((86_400, " days"), (3_600, " hours"), (60, " min")):
        if unit == "s" and abs(value) >= 1.5 * seconds:
            return f"{value / seconds:.3g}{suffix}"
    if unit == "percentunit":
        return f"{100 * value:.3g}%"
    for limit, suffix in ((1e9, " Bil"), (1e6, " Mil"), (1e3, " K")):
        if unit == "short" and abs(value) >= limit:
            return f"{value / limit:.3g}{suffix}"
    return f"{value:.4g}{SUFFIXES.get(unit, '')}"


def color_of(value: float, defaults: Json, otherwise: str) -> str:
    """Its color by the value mappings of a panel, else by its thresholds."""
    for mapping in defaults.get("mappings", ()):
        if (found := mapping["options"].get(f"{value:g}")) is not None:
            return COLORS[found["color"]]
    reached = [
        COLORS[step["color"]]
        for step in defaults.get("thresholds", {}).get("steps", ())
        if step["value"] is None or value >= step["value"]
    ]
    return reached[-1] if reached else otherwise


def table_of(panel: Json, found: Sequence[Sequence[Series]]) -> tuple[list[str], list[list[str]]]:
    """Columns and cells: series with the same labels are one line, as `merge` has it.

    `organize` then hides columns and gives others their names.
    """
    organize = next(e["options"] for e in panel["transformations"] if e["id"] == "organize")
    lines: list[dict[str, str]] = []
    values = {e["matcher"]["options"]: e["properties"] for e in panel["fieldConfig"]["overrides"]}
    for number, part in enumerate(found):
        value = f"Value #{chr(ord('A') + number)}" if len(found) > 1 else "Value"
        name = organize["renameByName"].get(value, value)
        own = {each["id"]: each["value"] for each in values.get(name, ())}
        for each in part:
            said = shown(each.last, own.get("unit", "none"), own.get("mappings", ()))
            labels = dict(each.labels)
            for line in lines:
                if value not in line and all(line.get(k, v) == v for k, v in labels.items()):
                    line |= {**labels, value: said}
                    break
            else:
                lines.append({**labels, value: said})
    hidden = {name for name, hides in organize["excludeByName"].items() if hides}
    hidden |= {k for k, name in organize["renameByName"].items() if name in hidden}
    columns = [c for c in dict.fromkeys(k for line in lines for k in line) if c not in hidden]
    order = organize["indexByName"]
    columns.sort(key=lambda name: order.get(name, len(order)))
    names = [organize["renameByName"].get(column, column) for column in columns]
    return names, [[line.get(column, "") for column in columns] for line in lines]

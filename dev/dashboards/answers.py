"""What Prometheus answers to the queries of a panel, as Grafana would ask and name it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import requests
from dev.dashboards.board import Json

_LABEL = re.compile(r"\{\{\s*(\w+)\s*\}\}")
LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Series:
    """One series: seconds since 1970 and values; a single point if the query is instant."""

    name: str
    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]

    @property
    def last(self) -> float:
        """The newest value."""
        return self.points[-1][1]


@dataclass(frozen=True, slots=True)
class Window:
    """The chosen time, and how far apart the points of a range are, in seconds."""

    start_s: float
    end_s: float
    step_s: float
    scrape_s: float = 5.0
    variables: Mapping[str, str] = field(default_factory=dict)

    def filled_in(self, expression: str) -> str:
        """A query with the variables of the dashboard and Grafana's own."""
        rate_s = max(4 * self.scrape_s, self.step_s + self.scrape_s)
        values = {
            **self.variables,
            "__rate_interval": f"{rate_s:.0f}s",
            "__range": f"{self.end_s - self.start_s:.0f}s",
        }
        for name, value in values.items():
            expression = expression.replace(f"${{{name}}}", value).replace(f"${name}", value)
        return expression


def ask(url: str, target: Json, window: Window) -> list[Series]:
    """The series of one query of a panel.

    Raises:
        requests.RequestException: Prometheus does not answer, or refuses the query.
    """
    query = {"query": window.filled_in(target["expr"])}
    if target["instant"]:
        path, more = "query", {"time": f"{window.end_s:.3f}"}
    else:
        path = "query_range"
        more = {"start": f"{window.start_s:.3f}", "end": f"{window.end_s:.3f}",
                "step": f"{window.step_s:g}"}  # fmt: skip
    answer = requests.get(f"{url}/api/v1/{path}", query | more, timeout=LIMIT_S)
    answer.raise_for_status()
    return [_series(each, target["legendFormat"]) for each in answer.json()["data"]["result"]]


def _series(found: Any, legend: str) -> Series:
    labels: dict[str, str] = found["metric"]
    points = found["values"] if "values" in found else [found["value"]]
    read = tuple((float(at), float(value)) for at, value in points)
    return Series(named(legend, labels), labels, read)


def named(legend: str, labels: Mapping[str, str]) -> str:
    """The name of a series by a legend in Grafana's braces."""
    if legend == "__auto":
        return ", ".join(v for k, v in sorted(labels.items()) if k != "__name__") or "value"
    return _LABEL.sub(lambda found: labels.get(found[1], ""), legend)

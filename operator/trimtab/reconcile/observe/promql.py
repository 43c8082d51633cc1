"""Selectors of PromQL, built from names and values: the only place that quotes a value."""

from __future__ import annotations

import json
from collections.abc import Mapping


class Selectors:
    """Builds selectors; each also has the matchers that the operator was told to add."""

    def __init__(self, always: Mapping[str, str]) -> None:
        """`always` are label values that every series must have, as in a shared Prometheus."""
        self._always = tuple(f"{name}={_quoted(value)}" for name, value in always.items())

    def of(self, name: str, **patterns: str) -> str:
        """The series of a metric, whose labels match the regular expressions."""
        return self._with(name, patterns)

    def named(self, pattern: str) -> str:
        """The series of all metrics whose names match the regular expression."""
        return self._with("", {"__name__": pattern})

    def _with(self, name: str, patterns: Mapping[str, str]) -> str:
        matchers = (*(f"{k}=~{_quoted(v)}" for k, v in patterns.items()), *self._always)
        return f"{name}{{{','.join(matchers)}}}" if matchers else name


def _quoted(value: str) -> str:
    """A string literal: PromQL has the escapes of Go, and JSON has none beside these."""
    return json.dumps(value, ensure_ascii=False)

"""What an exported figure is: its name, its type, its labels, and who reads it.

A figure whose value is unknown is omitted, never exported as zero. The labels `namespace`,
`pipeline` and `instance` are not exported: Prometheus adds them from the pod's metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

PREFIX = "trimtab_"


class Type(StrEnum):
    """The types of Prometheus."""

    GAUGE = "gauge"
    COUNTER = "counter"
    SUMMARY = "summary"
    HISTOGRAM = "histogram"


class Reader(StrEnum):
    """Who reads a figure."""

    TUNER = "tuner"
    """The operator, as they stand: in one query, or from the driver itself."""
    NOW = "tuner, by query or directly"
    """The operator, aggregated: in a query of their own, or over what the driver itself says."""
    QUERY = "tuner, by query"
    """The operator, only in a query of their own: it looks back over a window."""
    PEOPLE = "people"


@dataclass(frozen=True, slots=True)
class Figure:
    """One exported figure. `name` excludes the prefix and `_total`."""

    name: str
    type: Type
    help: str
    reader: Reader = Reader.PEOPLE
    labels: Mapping[str, str] = field(default_factory=dict)
    """The values of each label, in words; empty if they are self-explanatory."""

    @property
    def series(self) -> str:
        """The name of its series, without the prefix."""
        return f"{self.name}_total" if self.type is Type.COUNTER else self.name


def gauge(name: str, help_: str, reader: Reader = Reader.PEOPLE, **labels: str) -> Figure:
    """A figure that goes up and down."""
    return Figure(name, Type.GAUGE, help_, reader, labels)


def counter(name: str, help_: str, reader: Reader = Reader.PEOPLE, **labels: str) -> Figure:
    """A figure that only rises; its series ends in `_total`."""
    return Figure(name, Type.COUNTER, help_, reader, labels)

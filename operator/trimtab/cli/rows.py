"""Lines of text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

HEADING = 12
"""Characters of a heading."""


def row(heading: str, words: str) -> str:
    """One line under a heading."""
    return f"{heading:<{HEADING}}{line(words)}"


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table, each column as wide as its longest cell."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


def line(words: str) -> str:
    """One line that cannot steer a terminal: messages hold text of drivers and users."""
    return " ".join("".join(c if c.isprintable() else " " for c in words).split())

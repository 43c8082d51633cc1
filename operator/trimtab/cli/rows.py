"""Lines of text for a terminal."""

from __future__ import annotations

HEADING = 12
"""Characters of a heading."""


def row(heading: str, words: str) -> str:
    """One line under a heading."""
    return f"{heading:<{HEADING}}{line(words)}"


def line(words: str) -> str:
    """One line that cannot steer a terminal: messages hold text of drivers and users."""
    return " ".join("".join(c if c.isprintable() else " " for c in words).split())

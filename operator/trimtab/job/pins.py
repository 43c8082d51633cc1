"""The Python packages that an image of pipelines was built with."""

from __future__ import annotations

from pathlib import Path

PINS = Path("/opt/trimtab/pins.txt")
"""Lines of `name==version`, with hashes."""


def pinned(pins: Path) -> dict[str, str]:
    """The version of each package."""
    lines = (line.partition("==") for line in pins.read_text().splitlines() if "==" in line)
    return {name.strip(): needed.split()[0] for name, _, needed in lines}

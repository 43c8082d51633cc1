"""`python -m dev.docs.reference FOLDER` writes the generated pages of the reference."""

from __future__ import annotations

import sys
from pathlib import Path

from dev.docs import commands, fields


def pages() -> dict[str, str]:
    """The generated pages by file name."""
    return {**fields.pages(), "cli.md": commands.page()}


if __name__ == "__main__":
    for name, text in pages().items():
        (Path(sys.argv[1]) / name).write_text(text)

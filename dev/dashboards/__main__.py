"""`python -m dev.dashboards FOLDER`: writes the dashboards there, one JSON file each."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dev.dashboards import fleet, pipeline

BOARDS = {"fleet": fleet.board, "pipeline": pipeline.board}


def text(name: str) -> str:
    """The content of a dashboard's file."""
    return json.dumps(BOARDS[name]().as_json(), indent=1) + "\n"


if __name__ == "__main__":
    for folder in map(Path, sys.argv[1:]):
        folder.mkdir(parents=True, exist_ok=True)
        for name in BOARDS:
            (folder / f"{name}.json").write_text(text(name))

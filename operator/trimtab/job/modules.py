"""The user's Python modules that a ConfigMap brings: files, and archives of files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path


def found(folder: Path, work: Path) -> Iterator[Path]:
    """What can be imported and shipped to executors: .py files, and zip files of them.

    A wheel is a zip file, which Spark knows by its name alone, so `work` gets a copy of it.
    """
    yield from sorted(folder.glob("*.py"))
    yield from sorted(folder.glob("*.zip"))
    for wheel in sorted(folder.glob("*.whl")):
        copy = work / f"{wheel.name}.zip"
        shutil.copyfile(wheel, copy)
        yield copy

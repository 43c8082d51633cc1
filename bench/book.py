"""Runs that are done, a line of JSON each: a suite that was ended goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Book:
    """What runs gave, by a key; in a file that belongs to one state of the code, or nowhere."""

    path: Path | None = None

    def read(self) -> Mapping[str, Any]:
        """What is written so far; removes a last line that was cut off."""
        if self.path is None or not self.path.exists():
            return {}
        text = self.path.read_text()
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self.path.write_text(whole)
        return dict(json.loads(line) for line in whole.splitlines())

    def add(self, key: str, given: Any) -> None:
        """Write one more."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps([key, given]) + "\n")

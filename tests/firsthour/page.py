"""What docs/first-hour.md tells to do: its commands in order, the files they need, what they print.

A block of `sh` is run. A block of `text` is what the one before prints. A block of YAML that begins
with the comment `# NAME.yaml` is that file; other YAML is only shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from dev.localcluster.paths import REPO

PAGE = REPO / "docs" / "first-hour.md"
REGISTRY = "registry.example/team"
"""Stands for the reader's registry."""

_PART = re.compile(r"^## (?P<title>[^\n]*)$|^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
_FILE = re.compile(r"# ([\w-]+\.yaml)\n")
_ELLIPSIS = "..."


@dataclass(frozen=True)
class Step:
    """A block of commands."""

    name: str
    """Its heading, and which of the heading's blocks it is."""
    script: str
    files: dict[str, str] = field(default_factory=dict)
    """What the reader has written by then, since the block before."""
    shown: str = ""
    """What the page says that it prints."""


def steps(text: str) -> list[Step]:
    """The steps of a page.

    Raises:
        ValueError: a block is of no known kind, or an output follows no command.
    """
    found: list[Step] = []
    files: dict[str, str] = {}
    for title, kind, body in _blocks(text):
        if kind == "sh":
            number = 1 + sum(each.name.startswith(f"{title}, ") for each in found)
            found.append(Step(f"{title}, {number}", body, files))
            files = {}
        elif kind == "text" and found and not found[-1].shown:
            found[-1] = replace(found[-1], shown=body)
        elif kind in {"yaml", "yml"}:
            if named := _FILE.match(body):
                files[named[1]] = body
        else:
            raise ValueError(f"{title}: a block of {kind or 'no kind'} where none can be: {body}")
    return found


def _blocks(text: str) -> Iterator[tuple[str, str, str]]:
    """The heading, the kind and the text of each block."""
    title = ""
    for part in _PART.finditer(text):
        if part["title"] is None:
            yield title, part["kind"], part["text"]
        else:
            title = part["title"]


def unlike(shown: str, printed: str) -> str:
    """The first line of `shown` that `printed` has not, after those before it; empty if it has all.

    Figures may differ, and blanks; three dots stand for anything.
    """
    left = iter(printed.splitlines())
    for line in shown.splitlines():
        form = re.compile(_form(line))
        if not any(form.fullmatch(each.strip()) for each in left):
            return line
    return ""


def _form(line: str) -> str:
    """A pattern for lines like this one."""
    parts = (re.escape(part) for part in " ".join(line.split()).split(_ELLIPSIS))
    return re.sub(r"(\\ )+", r"\\s+", re.sub(r"\d+", r"\\d+", ".*".join(parts)))

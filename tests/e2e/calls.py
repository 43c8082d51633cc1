"""What the operator has asked of the API server, as the server's audit log has it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Event = dict[str, Any]
OPERATOR = "system:serviceaccount:trimtab:trimtab-operator"
CREATED = 201
FORBIDDEN = 403
ENDING = "because it is being terminated"
"""How the API server refuses everybody who creates something in a namespace that goes away."""


def events(log: Path, user: str = OPERATOR) -> Iterator[Event]:
    """The operator's calls of objects, oldest first; the log is rotated."""
    for part in [*sorted(log.parent.glob(f"{log.stem}-*{log.suffix}")), log]:
        for line in part.read_text().splitlines():
            event = json.loads(line)
            if event["user"]["username"] == user and event.get("objectRef"):
                yield event


def refused(log: Path) -> list[str]:
    """What the API server said where a right was missing."""
    return [
        event["responseStatus"].get("message", event["requestURI"])
        for event in events(log)
        if event["responseStatus"].get("code") == FORBIDDEN
        and ENDING not in event["responseStatus"].get("message", "")
    ]


def verbs(log: Path, user: str = OPERATOR) -> dict[str, list[str]]:
    """The verbs used, by group and resource; an apply that made its object took `create` too."""
    found: dict[str, set[str]] = {}
    for event in events(log, user):
        about = event["objectRef"]
        name = "/".join(
            part for key in ("apiGroup", "resource", "subresource") if (part := about.get(key))
        )
        used = found.setdefault(name, set())
        used.add(event["verb"])
        if event["verb"] == "patch" and event["responseStatus"].get("code") == CREATED:
            used.add("create")
    return {name: sorted(found[name]) for name in sorted(found)}

"""What the operator and drivers have asked of the API server, as its audit log has it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Event = dict[str, Any]
OPERATOR = re.escape("system:serviceaccount:trimtab:trimtab-operator")
DRIVERS = "system:serviceaccount:[^:]+:trimtab-driver-.+"
CREATED = 201
FORBIDDEN = 403
ENDING = "because it is being terminated"
"""How the API server refuses everybody who creates something in a namespace that goes away."""


def events(log: Path, user: str = OPERATOR) -> Iterator[Event]:
    """The calls of objects by who matches `user`, oldest first; the log is rotated."""
    for part in [*sorted(log.parent.glob(f"{log.stem}-*{log.suffix}")), log]:
        for line in part.read_text().splitlines():
            event = json.loads(line)
            if re.fullmatch(user, event["user"]["username"]) and event.get("objectRef"):
                yield event


def refused(log: Path) -> list[str]:
    """What the API server said where the operator lacked a right.

    A driver that goes with its role lacks rights at its end.
    """
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

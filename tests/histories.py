"""What two lives of a pipeline have in common of its history."""

from __future__ import annotations

from typing import Any

from trimtab.api.history import HISTORY_KEY, unpacked


def told(found: dict[str, Any]) -> dict[str, Any]:
    """Of a history its decisions, of any other object all of it.

    An operator that dies before it has written the history loses the numbers.
    """
    if HISTORY_KEY not in (found.get("binaryData") or {}):
        return found
    entries = unpacked(found["binaryData"][HISTORY_KEY])
    return {"decisions": [[e.action, e.reason, e.message] for e in entries]}

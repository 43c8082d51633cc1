"""Who has set which field of an object in memory, as `metadata.managedFields` tells it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trimtab.ports import Manifest

Path = tuple[str, ...]

_UNRECORDED = {"apiVersion", "kind", "status"}
_RECORDED_METADATA = {"labels", "annotations", "ownerReferences"}


def changed(old: Manifest, new: Manifest) -> set[Path]:
    """The fields that differ, lists as a whole; without the status and what the server sets."""
    return {path for path in _leaves(new, ()) if at(old, path) != at(new, path)}


def at(node: Any, path: Path) -> Any:
    """The value at a path, or None."""
    for name in path:
        node = node.get(name) if isinstance(node, dict) else None
    return node


def managed(paths: set[Path]) -> list[Manifest]:
    """The `managedFields` of somebody who has set these fields."""
    tree: Manifest = {}
    for path in sorted(paths):
        node = tree
        for name in path:
            node = node.setdefault(f"f:{name}", {})
    entry = {"manager": "somebody", "operation": "Update", "fieldsV1": tree}
    return [entry] if tree else []


def _leaves(node: Manifest, path: Path) -> Iterator[Path]:
    for name, value in node.items():
        below = (*path, name)
        if not path and name in _UNRECORDED:
            continue
        if path == ("metadata",) and name not in _RECORDED_METADATA:
            continue
        if isinstance(value, dict) and value:
            yield from _leaves(value, below)
        else:
            yield below

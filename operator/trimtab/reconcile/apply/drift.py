"""What others have set on a child, by the API server's own record of who set which field. Pure.

A field that somebody else changes is recorded as theirs, whatever our hash annotation says. A
server-side apply takes back what we apply, but leaves what others have added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trimtab.api.common import FIELD_MANAGER
from trimtab.ports import Manifest
from trimtab.workloads.common import digest

CLOSED: Mapping[str, tuple[str, ...]] = {
    "StatefulSet": ("spec",),
    "Service": ("spec",),
    "NetworkPolicy": ("spec",),
    "Role": ("rules",),
    "RoleBinding": ("roleRef", "subjects"),
}
"""By kind, the parts in which nobody else may even add a field; elsewhere they may."""

_OPEN: Mapping[str, tuple[str, ...]] = {"PersistentVolumeClaim": ("spec",)}
"""By kind, the parts that are left as others set them: a volume that was enlarged cannot shrink."""


def meddled(child: Manifest, live: Manifest) -> tuple[str, ...]:
    """What is to be put back, each in words; empty if all is as we applied it."""
    found = {
        f"{'.'.join(path)} (by {entry.get('manager', 'somebody')})": None
        for entry in live["metadata"].get("managedFields") or []
        if entry.get("manager") != FIELD_MANAGER and entry.get("subresource") != "status"
        for path in _paths(entry.get("fieldsV1") or {}, ())
        if _matters(child, live, path)
    }
    wanted = {name: part for name, part in child.items() if name not in {"apiVersion", "kind"}}
    removed = (f"{'.'.join(path)} (removed)" for path in _missing(wanted, live, ()))
    return (*found, *removed)


def signature(live: Manifest) -> str:
    """Changes with anything in an object that others could change, except its status."""
    meta = live["metadata"]
    rest = {k: v for k, v in live.items() if k not in {"metadata", "status"}}
    return digest([rest, *(meta.get(k) for k in ("uid", "labels", "annotations"))])


def _matters(child: Manifest, live: Manifest, path: tuple[str, ...]) -> bool:
    kind = child["kind"]
    if path[0] in CLOSED.get(kind, ()):
        return True
    if path[0] in _OPEN.get(kind, ()):
        return False
    wanted = _at(child, path)
    return wanted is not None and wanted != _at(live, path)


def _at(manifest: Manifest, path: tuple[str, ...]) -> Any:
    """The value at a path; None if there is none, or if it is a list or an object."""
    node: Any = manifest
    for name in path:
        node = node.get(name) if isinstance(node, dict) else None
    return None if isinstance(node, dict | list) else node


def _missing(ours: Any, live: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The fields that we apply and that are not there; one that is empty need not be.

    Which item of a list is which the API server knows: there, only their number counts.
    """
    if isinstance(ours, list) and isinstance(live, list) and len(live) < len(ours):
        yield path
    if not isinstance(ours, dict) or not isinstance(live, dict):
        return
    for name, value in ours.items():
        if name in live:
            yield from _missing(value, live[name], (*path, name))
        elif value:
            yield (*path, name)


def _paths(fields: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The fields in a `fieldsV1`; of an item of a list, the list."""
    names = [name for name in fields if name != "."]
    below = [name for name in names if name.startswith("f:")]
    if path and (not names or len(below) < len(names)):
        yield path
    for name in below:
        yield from _paths(fields[name], (*path, name.removeprefix("f:")))

"""What the structural schema of a CRD lets in, without an API server: without CEL. Pure."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,),
    "integer": (int,), "number": (int, float),
}  # fmt: skip


def refusals(node: Schema, value: Any, path: str) -> Iterator[str]:
    """Why an API server would refuse a value, by path."""
    kind = node.get("type")
    if kind and not _is(value, kind):
        yield f"{path}: not of type {kind}"
        return
    if "enum" in node and value not in node["enum"]:
        yield f"{path}: not one of {node['enum']}"
    if isinstance(value, str):
        yield from _of_string(node, value, path)
    elif isinstance(value, dict):
        yield from _of_object(node, value, path)
    elif isinstance(value, list):
        if not node.get("minItems", 0) <= len(value) <= node.get("maxItems", len(value)):
            yield f"{path}: {len(value)} items"
        for place, item in enumerate(value):
            yield from refusals(node["items"], item, f"{path}[{place}]")
    elif not isinstance(value, bool) and isinstance(value, int | float):
        least, most = node.get("minimum", value), node.get("maximum", value)
        if not least <= value <= most or (node.get("exclusiveMinimum") and value == least):
            yield f"{path}: {value} is out of bounds"


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer() and abs(value) < 2**63
    return isinstance(value, _TYPES[kind])


def _of_string(node: Schema, value: str, path: str) -> Iterator[str]:
    if not node.get("minLength", 0) <= len(value) <= node.get("maxLength", len(value)):
        yield f"{path}: {len(value)} characters"
    if "pattern" in node and not re.search(node["pattern"], value):
        yield f"{path}: does not match {node['pattern']}"


def _of_object(node: Schema, value: dict[str, Any], path: str) -> Iterator[str]:
    if len(value) > node.get("maxProperties", len(value)):
        yield f"{path}: {len(value)} fields"
    for name in node.get("required", ()):
        if name not in value:
            yield f"{path}.{name}: is missing"
    known, rest = node.get("properties", {}), node.get("additionalProperties")
    for name, item in value.items():
        if name in known:
            yield from refusals(known[name], item, f"{path}.{name}")
        elif isinstance(rest, dict):
            yield from refusals(rest, item, f"{path}.{name}")


def stored(node: Schema, value: Any) -> Any:
    """The value as an API server stores it: unknown fields and nulls gone, defaults filled in."""
    if isinstance(value, list):
        return [stored(node.get("items", {}), item) for item in value]
    if not isinstance(value, dict):
        return value
    known, rest = node.get("properties", {}), node.get("additionalProperties")
    kept = {
        name: item for name, item in value.items()
        if (name in known or rest) and not (item is None and "default" in known.get(name, {}))
    }  # fmt: skip
    for name, child in known.items():
        if name not in kept and "default" in child:
            kept[name] = copy.deepcopy(child["default"])
    return {name: stored(known.get(name) or rest or {}, item) for name, item in kept.items()}

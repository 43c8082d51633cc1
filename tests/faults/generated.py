"""Specs made from the schemas of our own CRDs: a good one, with some fields of it changed.

A changed field gets a value that its schema allows, often one at the edge, or one that it does not.
"""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from trimtab.api.crd import all_crds

Json = dict[str, Any]
Path = tuple[str | int, ...]
MOST_CHANGES = 4
_MATCHES = re.compile(r"^self\.matches\((['\"])(.*?)\1\)")
_KEYS = ("team", "a", "example.com/a", "trimtab.dev/a", "spark.sql.ansi.enabled", "-", "ä b", "")
_KNOWN: dict[str, tuple[Any, ...]] = {
    "cluster": ("events", "nowhere"), "configMap": ("clicks-transform", "nowhere"),
    "module": ("clicks:transform", "other:f"), "topic": ("clicks-out", "clicks"),
    "storageClassName": ("standard", "nowhere"), "image": ("pipeline:2", "not an image"),
}  # fmt: skip
"""Values that mean something, by field."""
WRONG: tuple[Any, ...] = (
    None, "", "x", "ä" * 40, "a" * 5000, "0", "-1", "1e9", "${HOME}", "a\nb", "\x00", 0, -1, 1.5,
    2**31, 2**63, 1e300, True, False, [], [None], ["a", "a"], {}, {"": ""}, {"a": None},
)  # fmt: skip
"""What somebody may write in a field by mistake."""


def spec_schema(kind: str) -> Json:
    """The schema of a kind's spec, as its CRD has it."""
    return _schema(kind)["properties"]["spec"]  # type: ignore[no-any-return]


def status_schema(kind: str) -> Json:
    """The schema of its status."""
    return _schema(kind)["properties"]["status"]  # type: ignore[no-any-return]


@cache
def _schema(kind: str) -> Json:
    (crd,) = (crd for crd in all_crds().values() if crd["spec"]["names"]["kind"] == kind)
    (version,) = crd["spec"]["versions"]
    found: Json = version["schema"]["openAPIV3Schema"]
    return found


def paths(node: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Every field of a schema, with its own schema; 0 is the first item of a list."""
    if path:
        yield path, node
    for name, child in node.get("properties", {}).items():
        yield from paths(child, (*path, name))
    if "items" in node:
        yield from paths(node["items"], (*path, 0))
    if isinstance(node.get("additionalProperties"), dict):
        yield from paths(node["additionalProperties"], (*path, "team"))


def allowed(node: Json, name: str = "") -> SearchStrategy[Any]:
    """Values that a schema allows; CEL rules may still refuse them."""
    if "enum" in node:
        return st.sampled_from(node["enum"])
    made = _BY_TYPE[node["type"]](node)
    if "default" in node:
        made = st.just(node["default"]) | made
    return st.sampled_from(_KNOWN[name]) | made if name in _KNOWN else made


def _strings(node: Json) -> SearchStrategy[str]:
    rules = (rule["rule"] for rule in node.get("x-kubernetes-validations", ()))
    patterns = [found[2].replace("\\\\", "\\") for rule in rules if (found := _MATCHES.match(rule))]
    patterns += [node["pattern"]] if "pattern" in node else []
    most = node.get("maxLength", 64)
    if patterns:
        matching = st.from_regex(patterns[0], fullmatch=True)
        return matching.map(lambda text: text[:most])
    return st.text(max_size=min(most, 40), min_size=node.get("minLength", 0))


def _numbers(node: Json) -> SearchStrategy[int | float]:
    least, most = node.get("minimum", -(2**31)), node.get("maximum", 2**31)
    edges = st.sampled_from([least, most])
    if node["type"] == "number":
        return edges | st.floats(least, most, allow_nan=False)
    return edges | st.integers(int(least), int(most)) | st.integers(int(least), int(least) + 8)


def _objects(node: Json) -> SearchStrategy[Json]:
    if isinstance(node.get("additionalProperties"), dict):
        values = allowed(node["additionalProperties"])
        return st.dictionaries(st.sampled_from(_KEYS), values, max_size=3)
    known = {name: allowed(child, name) for name, child in node.get("properties", {}).items()}
    needed = {name: known.pop(name) for name in node.get("required", ())}
    return st.fixed_dictionaries(needed, optional=known)


def _lists(node: Json) -> SearchStrategy[list[Any]]:
    least = node.get("minItems", 0)
    return st.lists(allowed(node["items"]), min_size=least, max_size=max(least, 3))


_BY_TYPE: dict[str, Callable[[Json], SearchStrategy[Any]]] = {
    "string": _strings, "integer": _numbers, "number": _numbers, "object": _objects,
    "array": _lists, "boolean": lambda _: st.booleans(),
}  # fmt: skip


@cache
def _fields(kind: str) -> dict[Path, SearchStrategy[Any]]:
    found = paths(spec_schema(kind))
    return {path: allowed(node, str(path[-1])) for path, node in found}


@cache
def _parts(kind: str) -> dict[str, tuple[Path, ...]]:
    """The paths by the first two steps: affinities alone have more fields than all else."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in _fields(kind):
        found[".".join(map(str, path[:2]))].append(path)
    return {part: tuple(below) for part, below in found.items()}


@st.composite
def specs(draw: DrawFn, kind: str, good: Json) -> Json:
    """A spec of a kind: the good one with up to four of its fields changed, or taken away."""
    spec, fields, parts = copy.deepcopy(good), _fields(kind), _parts(kind)
    for _ in range(draw(st.integers(1, MOST_CHANGES))):
        part = draw(st.sampled_from(tuple(parts)))
        path = draw(st.sampled_from(parts[part]))
        above = _missing(spec, path)
        if above != path:  # whole, or the schema would refuse it for what it lacks
            _put(spec, above, copy.deepcopy(draw(fields[above])))
        way = draw(st.sampled_from(("allowed", "allowed", "allowed", "wrong", "gone", "unknown")))
        if way == "gone":
            _take(spec, path)
        elif way == "unknown":
            _put(spec, (*path[:-1], "unheardOf"), 1)
        else:
            value = draw(fields[path] if way == "allowed" else st.sampled_from(WRONG))
            _put(spec, path, copy.deepcopy(value))
    return spec


def _missing(spec: Json, path: Path) -> Path:
    """The part of a path whose last step is the first that a spec does not have."""
    node: Any = spec
    for length, step in enumerate(path[:-1], start=1):
        if isinstance(node, dict) and step in node:
            node = node[step]
        elif isinstance(node, list) and step == 0 and node:
            node = node[0]
        else:
            return path[:length]
    return path


def _put(spec: Json, path: Path, value: Any) -> None:
    """Set the value at a path, as far as what is above it is of the right sort."""
    node: Any = spec
    for step, following in pairwise(path):
        empty: Any = [] if following == 0 else {}
        if isinstance(node, dict):
            node = node.setdefault(step, empty)
        elif isinstance(node, list) and step == 0:
            node.extend([] if node else [empty])
            node = node[0]
        else:
            return
    if isinstance(node, dict):
        node[path[-1]] = value
    elif isinstance(node, list):
        node[:1] = [value]


def _take(spec: Json, path: Path) -> None:
    node: Any = spec
    for step in path[:-1]:
        if isinstance(node, dict) and step in node:
            node = node[step]
        elif isinstance(node, list) and step == 0 and node:
            node = node[0]
        else:
            return
    if isinstance(node, dict):
        node.pop(path[-1], None)
    elif isinstance(node, list) and node:
        node.pop(0)

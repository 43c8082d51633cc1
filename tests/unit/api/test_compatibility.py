"""The CRDs take every object that the last release took, and read it the same."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from trimtab.api.crd import all_crds

Schema = dict[str, Any]

RELEASED = sorted(Path("tests/unit/api/released").iterdir())[-1]
"""The CRDs of the last release: `make generate` and a copy of crds/ make the next one's."""

FLOORS = ("minimum", "minLength", "minItems")
CEILINGS = ("maximum", "maxLength", "maxItems", "maxProperties")


def breaks(old: Schema, new: Schema, path: str) -> Iterator[str]:
    """What a schema no longer takes, or takes otherwise."""
    yield from (f"{path}: {words}" for words in (*changed(old, new), *narrower(old, new)))
    for name, part in old.get("properties", {}).items():
        if name not in new.get("properties", {}):
            yield f"{path}.{name}: is gone"
        else:
            yield from breaks(part, new["properties"][name], f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(old.get(key), dict):
            yield from breaks(old[key], new.get(key, {}), f"{path}[]")


def changed(old: Schema, new: Schema) -> Iterator[str]:
    for key in ("type", "pattern", "format"):
        if key in new and old.get(key) != new[key]:
            yield f"{key} was {old.get(key)}, is {new[key]}"
    if old.get("default") != new.get("default"):
        yield f"the default was {old.get('default')}, is {new.get('default')}"


def narrower(old: Schema, new: Schema) -> Iterator[str]:
    floors = [(k, new[k]) for k in FLOORS if k in new and new[k] > old.get(k, float("-inf"))]
    longest = max(len(str(v)) for v in old["enum"]) if "enum" in old else float("inf")
    most = {"maxLength": longest} | old
    ceilings = [(k, new[k]) for k in CEILINGS if k in new and new[k] < most.get(k, float("inf"))]
    for key, bound in (*floors, *ceilings):
        yield f"{key} was {old.get(key)}, is {bound}"
    if "enum" in new and (gone := set(old.get("enum", ())) - set(new["enum"])):
        yield f"no longer one of {', '.join(sorted(gone))}"
    if required := set(new.get("required", ())) - set(old.get("required", ())):
        yield f"{', '.join(sorted(required))} is required now"


def schema_of(crd: Schema) -> Schema:
    (version,) = crd["spec"]["versions"]
    schema: Schema = version["schema"]["openAPIV3Schema"]
    return schema


@pytest.mark.parametrize("name", sorted(all_crds()))
def test_nothing_that_was_taken_is_refused(name: str) -> None:
    old = schema_of(yaml.safe_load((RELEASED / name).read_text()))
    assert list(breaks(old, schema_of(all_crds()[name]), "")) == []


def limits(schema: Schema) -> Schema:
    part: Schema = schema["properties"]["spec"]["properties"]["limits"]
    return part


def narrowed(schema: Schema) -> None:
    limits(schema)["properties"]["tasks"]["maximum"] -= 1


def removed(schema: Schema) -> None:
    del limits(schema)["properties"]["tasks"]


def defaulted(schema: Schema) -> None:
    limits(schema)["properties"]["tasks"]["default"] = 3


def required(schema: Schema) -> None:
    limits(schema)["required"] = ["tasks"]


@pytest.mark.parametrize("change", [narrowed, removed, defaulted, required])
def test_a_change_that_breaks_objects_is_seen(change: Callable[[Schema], None]) -> None:
    old = schema_of(all_crds()["streampipelines.yaml"])
    new = copy.deepcopy(old)
    change(new)
    (found,) = breaks(old, new, "")
    assert found.startswith(".spec.limits")

"""The CRDs: in step with the models, bounded, and small."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from trimtab.api.crd import all_crds, render

ROOT = Path(__file__).parents[3]
FOLDERS = ("crds", "charts/trimtab/files/crds")
MAX_BYTES = 176 * 1024
"""As JSON, of which `kubectl apply` keeps a copy in an annotation: all of them have 256 KiB. It was
raised for `sources`, whose items have the fields of a source once more."""
MAX_FILE_BYTES = 288 * 1024
"""As YAML, half of which is indentation."""
CRDS = all_crds()
PRESERVED = "x-kubernetes-preserve-unknown-fields"
OPEN = {"status.controller"}
"""The controller's memory is opaque to the API server."""


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_files_are_what_the_models_say(folder: str) -> None:
    files = {path.name: path.read_text() for path in (ROOT / folder).iterdir()}
    assert files == {name: render(crd) for name, crd in CRDS.items()}, "run `make generate`"


@pytest.mark.parametrize("name", sorted(CRDS))
def test_a_crd_is_small(name: str) -> None:
    assert (
        len(json.dumps(CRDS[name], separators=(",", ":"), ensure_ascii=False).encode()) < MAX_BYTES
    )
    assert len(render(CRDS[name]).encode()) < MAX_FILE_BYTES
    assert yaml.safe_load(render(CRDS[name])) == CRDS[name]


def unbounded(node: dict[str, Any], path: str) -> Iterator[str]:
    """Paths of strings, lists and maps that may grow without end."""
    if path in OPEN:
        return
    kind = node.get("type")
    if kind == "string" and not node.keys() & {"maxLength", "enum"}:
        yield path
    if kind == "array":
        if "maxItems" not in node:
            yield path
        yield from unbounded(node["items"], f"{path}[]")
    if "additionalProperties" in node:
        if "maxProperties" not in node:
            yield path
        yield from unbounded(node["additionalProperties"], f"{path}{{}}")
    if node.get(PRESERVED):  # what an object has beside its properties is dropped otherwise
        yield path
    for key, child in node.get("properties", {}).items():
        yield from unbounded(child, f"{path}.{key}")


def schema(name: str) -> dict[str, Any]:
    (version,) = CRDS[name]["spec"]["versions"]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return found


@pytest.mark.parametrize("part", ["spec", "status"])
@pytest.mark.parametrize("name", sorted(CRDS))
def test_everything_in_a_crd_is_bounded(name: str, part: str) -> None:
    assert list(unbounded(schema(name)["properties"][part], part)) == []


@pytest.mark.parametrize(
    "node",
    [
        {"type": "string"},
        {"type": "array", "items": {"type": "integer"}},
        {"type": "array", "maxItems": 3, "items": {"type": "string"}},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    ],
)
def test_the_search_finds_what_is_unbounded(node: dict[str, Any]) -> None:
    assert len(list(unbounded(node, "x"))) == 1


def keywords(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from keywords(value)
    elif isinstance(node, list):
        for value in node:
            yield from keywords(value)


@pytest.mark.parametrize("name", sorted(CRDS))
def test_a_schema_is_structural(name: str) -> None:
    assert not set(keywords(schema(name))) & {"$ref", "$defs", "anyOf", "oneOf", "const", "title"}


@pytest.mark.parametrize("name", sorted(CRDS))
def test_every_rule_has_a_message_that_helps(name: str) -> None:
    def rules(node: Any) -> Iterator[dict[str, str]]:
        if isinstance(node, dict):
            yield from node.get("x-kubernetes-validations", ())
            for value in node.values():
                yield from rules(value)

    found = list(rules(schema(name)))
    assert found
    assert all(len(rule["message"]) > 20 for rule in found)


def test_a_status_begins_as_not_observed() -> None:
    for name in CRDS:
        status = schema(name)["properties"]["status"]
        assert status["default"] == {"observedGeneration": -1}
        assert status["properties"]["conditions"]["x-kubernetes-list-map-keys"] == ["type"]


def undescribed(node: dict[str, Any], path: str) -> Iterator[str]:
    for name, field in node.get("properties", {}).items():
        if not field.get("description"):
            yield f"{path}.{name}"
        yield from undescribed(field, f"{path}.{name}")
    if isinstance(node.get("items"), dict):
        yield from undescribed(node["items"], f"{path}[]")


@pytest.mark.parametrize("name", sorted(all_crds()))
def test_kubectl_explain_has_words_for_every_field_of_a_spec(name: str) -> None:
    (version,) = all_crds()[name]["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert list(undescribed(spec, "spec")) == []

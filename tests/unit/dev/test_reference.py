"""The generated pages of the reference: they are the code's, and they leave nothing out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from dev.docs import fields
from dev.docs.reference import pages

from trimtab.api.crd import Schema, all_crds
from trimtab.cli import main

FOLDER = Path(__file__).parents[3] / "docs" / "reference"


@pytest.mark.parametrize(("name", "text"), pages().items())
def test_the_page_is_what_the_code_says(name: str, text: str) -> None:
    assert (FOLDER / name).read_text() == text


def test_no_other_page_lies_there() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(pages())


def names(schema: Schema) -> Iterator[str]:
    for name, each in schema.get("properties", {}).items():
        yield name
        yield from names(each.get("items", each))


@pytest.mark.parametrize(("name", "crd"), all_crds().items())
def test_every_field_is_told_with_its_meaning(name: str, crd: Schema) -> None:
    (version,) = crd["spec"]["versions"]
    root = version["schema"]["openAPIV3Schema"]["properties"]
    rows = [r for r in pages()[name.replace(".yaml", ".md")].splitlines() if r.startswith("| `")]
    told = [row.split("`")[1].split(".")[-1] for row in rows]
    assert sorted(told) == sorted([*names(root["spec"]), *names(root["status"])])
    assert [row for row in rows if row.endswith("|  |")] == []


@pytest.mark.parametrize(
    ("schema", "kind", "default", "limits"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 8, "default": 2}, "integer", "`2`", "1 to 8"),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, "number", "", "above 0"),
        ({"type": "string", "enum": ["a", "b"]}, "string", "", "`a`, `b`"),
        ({"type": "boolean", "default": False}, "boolean", "`false`", ""),
        ({"type": "array", "items": {"type": "string"}}, "list of string", "", ""),
    ],
)
def test_a_field_is_a_row(schema: Schema, kind: str, default: str, limits: str) -> None:
    row = list(fields._section("s", [("f", {**schema, "description": "<a|b>"}, False)]))[-1]
    told = f"&lt;a\\|b>{'<br>' if limits else ''}{limits}"
    assert row == f"| `f` | {kind} | {default} | {told} |"


def test_every_command_has_its_help() -> None:
    page = pages()["cli.md"]
    for name, command in main.commands.items():
        assert f"## trimtab {name}\n" in page
        if isinstance(command, click.Group):
            assert all(f"## trimtab {name} {below}\n" in page for below in command.commands)

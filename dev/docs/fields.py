"""A page for each kind of object: every field with its type, default, meaning and limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from trimtab.api.common import API_VERSION
from trimtab.api.crd import Schema, all_crds
from trimtab.api.quantities import CPU_PATTERN, DURATION_PATTERN, QUANTITY_PATTERN

RULES = "x-kubernetes-validations"
WORDS = {DURATION_PATTERN: "duration", QUANTITY_PATTERN: "size", CPU_PATTERN: "CPU quantity"}
"""What a string with one of these patterns is called."""

Row = tuple[str, Schema, bool]
"""A field below its section, its schema, and whether it must be written."""


def pages() -> dict[str, str]:
    """The pages by file name."""
    return {name.replace(".yaml", ".md"): _page(crd) for name, crd in all_crds().items()}


def _page(crd: Schema) -> str:
    names, (version,) = crd["spec"]["names"], crd["spec"]["versions"]
    root = version["schema"]["openAPIV3Schema"]["properties"]
    scope = "of the cluster" if crd["spec"]["scope"] == "Cluster" else "of a namespace"
    lines = [
        f"# Fields of {names['kind']}",
        "",
        "<!-- generated from the models by `make generate`: edit their descriptions -->",
        "",
        f"`{API_VERSION}`, short name `{names['shortNames'][0]}`, an object {scope}."
        f" {root['spec']['description']}",
        "",
        "A duration is written like `500ms`, `10s` or `1h30m`, a size like `512Mi` or `2Gi`, a CPU"
        " quantity like `100m` or `1.5`. A field of a list has `[]` behind the list's name.",
        *_rules_of("spec", root["spec"]),
    ]
    for part in ("spec", "status"):
        lines += _sections(part, root[part])
    return "\n".join(lines) + "\n"


def _sections(part: str, schema: Schema) -> Iterator[str]:
    """The fields of the spec or the status: what has fields of its own gets a section."""
    fields, needed = schema["properties"], schema.get("required", ())
    flat = [(name, each, name in needed) for name, each in fields.items() if not _below(each)]
    if flat:
        yield from _section(part, flat)
    for name, each in fields.items():
        if _below(each):
            own: Row = (name, each, name in needed)
            yield from _section(f"{part}.{name}", [own, *_rows(each, name)])


def _section(title: str, rows: list[Row]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from ("| field | type | default | meaning, and limits |", "|---|---|---|---|")
    for name, schema, needed in rows:
        default = "required" if needed else _default(schema)
        words, limits = schema.get("description", "").replace("\n", " "), _limits(schema)
        meaning = "<br>".join(_plain(each) for each in (words, limits) if each)
        yield f"| {' | '.join((f'`{name}`', _type(schema), default, meaning))} |"


def _rows(schema: Schema, name: str) -> Iterator[Row]:
    """The fields below one, named from the section on."""
    prefix, below = f"{name}[]" if "items" in schema else name, _below(schema)
    needed = below.get("required", ())
    for own, each in below.get("properties", {}).items():
        yield f"{prefix}.{own}", each, own in needed
        yield from _rows(each, f"{prefix}.{own}")


def _below(schema: Schema) -> Schema:
    """The schema that has the fields of an object or of each item of a list; empty if none has."""
    inner: Schema = schema.get("items", schema)
    return inner if "properties" in inner else {}


def _plain(words: str) -> str:
    """The words as text of a table: nothing in them is a column or an element of HTML."""
    return words.replace("|", "\\|").replace("<", "&lt;")


def _type(schema: Schema) -> str:
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if "additionalProperties" in schema:
        return "map of strings"
    return _word(schema.get(RULES, ())) or str(schema["type"])


def _default(schema: Schema) -> str:
    """The default; that of an object is what its fields have."""
    value: Any = schema.get("default")
    if value in (None, "") or isinstance(value, dict | list):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _limits(schema: Schema) -> str:
    inner, rules = schema.get("items", {}), schema.get(RULES, ())
    parts = [*_range(schema, "minimum", "maximum", ""), *_words(schema), *_words(inner)]
    parts += _range(schema, "minItems", "maxItems", " items")
    if not _word(rules):
        parts += _range(schema, "minLength", "maxLength", " characters")
    told = (rule["message"] for rule in rules if not _word([rule]))
    return "; ".join([*parts, *(words.removeprefix("write a duration ") for words in told)])


def _word(rules: Iterable[Schema]) -> str:
    """What a string is called that must match one of the known patterns; empty if it need not."""
    known = {f"self.matches('{pattern}')": word for pattern, word in WORDS.items()}
    begins = [(rule["rule"], begin) for rule in rules for begin in known]
    return next((known[begin] for rule, begin in begins if rule.startswith(begin)), "")


def _range(schema: Schema, least: str, most: str, unit: str) -> Iterator[str]:
    low, high = schema.get(least), schema.get(most)
    above = "above " if schema.get("exclusiveMinimum") else ""
    if low is not None and high is not None:
        yield f"{above}{low} to {high}{unit}"
    elif high is not None:
        yield f"at most {high}{unit}"
    elif low is not None:
        yield f"{above or 'at least '}{low}{unit}"


def _words(schema: Schema) -> Iterator[str]:
    if "enum" in schema:
        yield ", ".join(f"`{word}`" for word in schema["enum"])
    if "pattern" in schema:
        yield f"`{schema['pattern']}`"


def _rules_of(name: str, schema: Schema) -> Iterator[str]:
    """What holds between the fields of one object."""
    rules = [rule["message"] for rule in schema.get(RULES, ())]
    if rules:
        yield from ("", f"The API server checks of `{name}`:", "", *(f"- {each}" for each in rules))

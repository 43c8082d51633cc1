"""What the kinds share: a strict base model, CEL rules, names that Kafka accepts, conditions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

GROUP = "trimtab.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
FIELD_MANAGER = "trimtab"
MAX_NAME_LENGTH = 40  # leaves room for the children's suffixes within 63

TOPIC_PATTERN = r"^[a-zA-Z0-9._-]{1,249}$"


class ApiModel(BaseModel):
    """A part of a manifest: refuses unknown fields, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class StatusModel(BaseModel):
    """A part of a status: ignores unknown fields, so a newer operator's status can be read."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule, and the message that says what to write instead."""

    rule: str
    message: str
    expression: str = ""
    """CEL that computes a better message; if it fails, the API server shows `message`."""

    def schema(self) -> dict[str, str]:
        """The rule as an entry of x-kubernetes-validations."""
        more = {"messageExpression": self.expression} if self.expression else {}
        return {"rule": self.rule, "message": self.message, **more}


def cel(*rules: Rule | tuple[str, str]) -> dict[str, Any]:
    """Schema extra with CEL rules; a pair is a rule and its message."""
    made = [rule if isinstance(rule, Rule) else Rule(*rule) for rule in rules]
    return {"x-kubernetes-validations": [rule.schema() for rule in made]}


def exactly_one(fields: Iterable[str], words: str) -> Rule:
    """The rule that one of these fields is there, and no other; `require_one` is its twin."""
    return Rule(f"[{', '.join(f'has(self.{field})' for field in fields)}].exists_one(k, k)", words)


def require_one(values: Iterable[object], words: str) -> None:
    """Raise ValueError unless exactly one of these is not None."""
    if sum(value is not None for value in values) != 1:
        raise ValueError(words)


def function_rule(example: str) -> dict[str, Any]:
    """Schema extra of a field that names a Python function."""
    pattern = "^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$"
    return cel((f"self.matches('{pattern}')", f"write module:function, like {example}"))


DIRECTORY = "^[a-z][a-z0-9+.-]*://[^ ?#]*[^ ?#/]/?$"
"""Pattern of the URI of a directory."""

NO_PASSWORD = (
    "!self.matches('//[^/]*:[^/]*@')",
    "anyone can read a password in a URI: pass it to the pods, and remove it here",
)
"""For a URI; `abfss://container@account...` has none."""


def uri_rules(wanted: str) -> dict[str, Any]:
    """Schema extra of the URI of a directory that `wanted`; it holds no password."""
    return cel(
        (
            f"self.matches('{DIRECTORY}') && !self.startsWith('file:')",
            f"write the URI of a directory that {wanted}, like s3a://bucket/path or"
            " hdfs://namenode:8020/path",
        ),
        NO_PASSWORD,
    )


def _check_topic(name: str) -> str:
    if name in {".", ".."}:
        raise ValueError(f"Kafka refuses the topic name {name!r}")
    return name


Topic = Annotated[
    str,
    AfterValidator(_check_topic),
    WithJsonSchema(
        {
            "type": "string",
            "maxLength": 249,
            **cel(
                (
                    f"self.matches('{TOPIC_PATTERN}') && self != '.' && self != '..'",
                    "Kafka refuses this topic name: write 1 to 249 of the characters a-z A-Z 0-9"
                    " . _ - and not '.' or '..'",
                )
            ),
        }
    ),
]
"""A topic name that Kafka accepts."""

Name = Annotated[str, Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
"""The name of an object in the same namespace."""


def faults(error: ValidationError) -> str:
    """What is wrong with a document that somebody wrote: each field, and what it should be."""
    found = (
        (".".join(map(str, fault["loc"])), fault["msg"].removeprefix("Value error, "))
        for fault in error.errors(include_url=False, include_context=False, include_input=False)
    )
    return "; ".join(f"{where}: {words}" if where else words for where, words in found)


class Condition(StatusModel):
    """One entry of status.conditions, by the Kubernetes convention."""

    type: str = Field(max_length=64, description="What it is about.")
    status: Literal["True", "False", "Unknown"] = Field(description="Whether it is the case.")
    reason: str = Field(max_length=128, description="Why, in one word for programs.")
    message: str = Field("", max_length=1024, description="Why, for people.")
    observed_generation: int = Field(
        0, alias="observedGeneration", ge=0, description="The metadata.generation it is about."
    )
    last_transition_time: str = Field(
        alias="lastTransitionTime", max_length=40, description="When its status last changed."
    )


def timestamp(now_s: float) -> str:
    """Seconds since 1970 as an RFC 3339 time in UTC, as Kubernetes writes it."""
    return datetime.fromtimestamp(now_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str | None) -> float:
    """Seconds since 1970 of such a time; 0 if there is none."""
    return datetime.fromisoformat(text).timestamp() if text else 0.0


def set_condition(conditions: tuple[Condition, ...], new: Condition) -> tuple[Condition, ...]:
    """The conditions with `new` in its place; its transition time changes only with its status."""
    old = next((c for c in conditions if c.type == new.type), None)
    if old and old.status == new.status:
        new = new.model_copy(update={"last_transition_time": old.last_transition_time})
    if old is None:
        return (*conditions, new)
    return tuple(new if c.type == new.type else c for c in conditions)


def get_condition(conditions: tuple[Condition, ...], type_: str) -> Condition | None:
    """The condition of that type, or None."""
    return next((c for c in conditions if c.type == type_), None)

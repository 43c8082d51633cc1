"""What a policy allows each knob: a range, a largest step, or no move at all.

One field for every knob that the control law moves, made from the table of knobs: a new knob has
its rules at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, WithJsonSchema, create_model, model_validator

from trimtab.api.common import ApiModel, cel
from trimtab.api.knobs import ALL_KNOBS, BY_NAME, SCOPE, Knob
from trimtab.api.quantities import Duration, between

_ORDER = "min must not be greater than max"


@dataclass(frozen=True, slots=True)
class Range:
    """What a knob may do: its bounds, and how far it moves in one change; None: no limit."""

    least: float | None = None
    most: float | None = None
    step: float | None = None
    locked: bool = False
    """Whether it must not move at all."""

    def within(self, value: float) -> float:
        """The nearest allowed value; of bounds that contradict each other, the upper one holds."""
        if self.least is not None:
            value = max(value, self.least)
        return value if self.most is None else min(value, self.most)

    @property
    def empty(self) -> bool:
        """Whether no value is allowed."""
        return self.least is not None and self.most is not None and self.least > self.most

    def and_(self, other: Range) -> Range:
        """What both allow."""
        return Range(
            _one(max, self.least, other.least),
            _one(min, self.most, other.most),
            _one(min, self.step, other.step),
            self.locked or other.locked,
        )


def _one(which: Callable[[list[float]], float], *values: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return which(known) if known else None


class KnobRule(ApiModel):
    """What a policy allows one knob."""

    locked: bool = Field(False, description="True: the tuner does not move it.")

    def range(self, knob: Knob) -> Range:
        """The rule in numbers, durations in seconds, words as their index."""
        told = {name: getattr(self, name, None) for name in ("min", "max", "max_step")}
        least, most, step = (None if v is None else knob.number(v) for v in told.values())
        return Range(least, most, step, self.locked)


def _rule(knob: Knob) -> type[KnobRule]:
    """The model of the rule of one knob."""
    name = "".join(part[0].upper() + part[1:] for part in knob.name.split(".")) + "Rule"
    if knob.words and knob is not SCOPE:
        return create_model(name, __base__=KnobRule, __doc__=_DOC)
    value: Any = Annotated[int, Field(ge=knob.minimum, le=knob.maximum)]
    step: Any = Annotated[int, Field(ge=1)]
    order = "self.min <= self.max"
    if knob.unit == "s":
        value, step = Annotated[Duration, between(knob.minimum, knob.maximum)], Duration
        order = "duration(self.min) <= duration(self.max)"
    if knob.words:
        value, step = Annotated[Literal[knob.words], WithJsonSchema(_words(knob))], None
        order_of = enumerate(knob.words)
        order = " || ".join(
            f"(self.min == '{word}' && self.max in {list(knob.words[i:])})" for i, word in order_of
        )
    fields: dict[str, Any] = {
        "min": (value | None, Field(None, description="Smallest value.")),
        "max": (value | None, Field(None, description="Largest value.")),
    }
    if step is not None:
        about = Field(None, alias="maxStep", description="Most that one change may move it.")
        fields["max_step"] = (step | None, about)
    made = create_model(name, __base__=KnobRule, __doc__=_DOC, **fields)
    rule = f"!has(self.min) || !has(self.max) || ({order})"
    made.model_config = {**made.model_config, "json_schema_extra": cel((rule, _ORDER))}
    made.model_rebuild(force=True)
    return made


def _words(knob: Knob) -> dict[str, Any]:
    """The schema of one of its words; with a length, for the API server's estimate of rules."""
    return {"type": "string", "enum": list(knob.words), "maxLength": max(map(len, knob.words))}


_DOC = "What a policy allows this knob."


def _tree() -> dict[str, Any]:
    """The fields of all knobs, those of a group within it."""
    groups: dict[str, dict[str, Any]] = {}
    for knob in ALL_KNOBS:
        group, _, own = knob.name.rpartition(".")
        about = Field(None, description=f"Rules for {knob.name}.")
        groups.setdefault(group, {})[own] = (_rule(knob) | None, about)
    top = groups.pop("")
    for group, fields in groups.items():
        model = create_model(f"{group.capitalize()}Rules", __base__=ApiModel, **fields)
        about = Field(None, description=f"Rules for the knobs of {group}.")
        top[group] = (model | None, about)
    return top


class _KnobRules(ApiModel):
    """Rules for some or all knobs; an absent knob may move freely."""

    def ranges(self) -> Mapping[str, Range]:
        """The rules by knob name."""
        return dict(_said(self, ""))

    @model_validator(mode="after")
    def _ordered(self) -> _KnobRules:
        empty = [name for name, allowed in self.ranges().items() if allowed.empty]
        if empty:
            raise ValueError(f"{', '.join(empty)}: {_ORDER}")
        return self


KnobRules = create_model("KnobRules", __base__=_KnobRules, __doc__=_KnobRules.__doc__, **_tree())


def _said(model: BaseModel, prefix: str) -> Iterator[tuple[str, Range]]:
    for field in type(model).model_fields:
        value, name = getattr(model, field), prefix + field
        if isinstance(value, KnobRule):
            yield name, value.range(BY_NAME[name])
        elif value is not None:
            yield from _said(value, f"{name}.")

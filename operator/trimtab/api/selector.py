"""A label selector, as Kubernetes has it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from trimtab.api.common import ApiModel, cel

_Value = Annotated[str, Field(max_length=63)]
_Key = Annotated[str, Field(max_length=317)]
_VALUES_RULE = "In and NotIn take values, Exists and DoesNotExist take none"


class Operator(StrEnum):
    """How a requirement compares."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class Requirement(ApiModel):
    """One condition on one label."""

    key: _Key = Field(description="Name of the label.")
    operator: Operator = Field(description="In, NotIn, Exists or DoesNotExist.")
    values: Annotated[list[_Value], Field(max_length=64)] = Field(
        default_factory=list, description="Values for In and NotIn."
    )
    model_config = {
        "json_schema_extra": cel(
            (
                "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
                _VALUES_RULE,
            )
        )
    }

    @model_validator(mode="after")
    def _has_values(self) -> Requirement:
        if (self.operator in {Operator.IN, Operator.NOT_IN}) != bool(self.values):
            raise ValueError(_VALUES_RULE)
        return self

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether labels satisfy it; a label that is absent is in no list, as in Kubernetes."""
        match self.operator:
            case Operator.EXISTS:
                return self.key in labels
            case Operator.DOES_NOT_EXIST:
                return self.key not in labels
            case Operator.IN:
                return labels.get(self.key) in self.values
        return labels.get(self.key) not in self.values


class LabelSelector(ApiModel):
    """Which objects are meant; all of its conditions must hold, and an empty one means all."""

    match_labels: Annotated[dict[str, _Value], Field(max_length=16)] = Field(
        default_factory=dict, alias="matchLabels", description="Labels with these values."
    )
    match_expressions: Annotated[list[Requirement], Field(max_length=16)] = Field(
        default_factory=list, alias="matchExpressions", description="Further conditions on labels."
    )

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is meant."""
        same = all(labels.get(key) == value for key, value in self.match_labels.items())
        return same and all(each.holds(labels) for each in self.match_expressions)

"""Where pods may run, by the labels of nodes and of other pods; named as in a pod's own spec."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trimtab.api.common import ApiModel

Key = Annotated[str, Field(min_length=1, max_length=317)]
"""The key of a label: at most 253 characters, a slash, and 63."""
Value = Annotated[str, Field(max_length=63)]
Weight = Annotated[int, Field(ge=1, le=100, description="How much it counts, beside the others.")]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeExpression(ApiModel):
    """A requirement on a label of a node."""

    key: Key = Field(description="The label.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"] = Field(
        description="How it is compared with the values."
    )
    values: list[Value] = Field(default_factory=list, max_length=32, description="The values.")


class NodeTerm(ApiModel):
    """Nodes that meet all requirements."""

    match_expressions: list[NodeExpression] = Field(
        alias="matchExpressions", min_length=1, max_length=16, description="The requirements."
    )


class NodeTerms(ApiModel):
    """Nodes that one of the terms describes."""

    terms: list[NodeTerm] = Field(
        alias="nodeSelectorTerms", min_length=1, max_length=8, description="The terms."
    )


class PreferredNodes(ApiModel):
    """Nodes that are better than others."""

    weight: Weight
    preference: NodeTerm = Field(description="The nodes.")


class NodeAffinity(ApiModel):
    """Which nodes pods must or should run on."""

    required: NodeTerms | None = Field(None, alias=_REQUIRED, description="Pods wait for these.")
    preferred: list[PreferredNodes] = Field(
        default_factory=list, alias=_PREFERRED, max_length=8, description="Better ones."
    )


class LabelExpression(ApiModel):
    """A requirement on a label of a pod."""

    key: Key = Field(description="The label.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(
        description="How it is compared with the values."
    )
    values: list[Value] = Field(default_factory=list, max_length=32, description="The values.")


class LabelSelector(ApiModel):
    """Pods by their labels."""

    match_labels: dict[str, Value] = Field(
        default_factory=dict, alias="matchLabels", max_length=16, description="Labels they have."
    )
    match_expressions: list[LabelExpression] = Field(
        default_factory=list, alias="matchExpressions", max_length=16, description="Requirements."
    )


class PodTerm(ApiModel):
    """Pods in this namespace, and how near to them counts."""

    topology_key: Key = Field(
        alias="topologyKey", description="The node label whose value says what is near."
    )
    label_selector: LabelSelector = Field(alias="labelSelector", description="The pods.")


class PreferredPods(ApiModel):
    """Pods that it is better to be near to, or far from."""

    weight: Weight
    term: PodTerm = Field(alias="podAffinityTerm", description="The pods.")


class PodAffinity(ApiModel):
    """Which pods must or should be near, or far."""

    required: list[PodTerm] = Field(
        default_factory=list, alias=_REQUIRED, max_length=8, description="All of these must hold."
    )
    preferred: list[PreferredPods] = Field(
        default_factory=list, alias=_PREFERRED, max_length=8, description="Better ones."
    )


class Affinity(ApiModel):
    """Where pods may run."""

    node: NodeAffinity | None = Field(None, alias="nodeAffinity", description="By nodes.")
    pod: PodAffinity | None = Field(None, alias="podAffinity", description="Near to pods.")
    anti_pod: PodAffinity | None = Field(
        None, alias="podAntiAffinity", description="Far from pods."
    )

"""What users may add to the pods that trimtab makes: drivers, executors, brokers.

The parts are named as in a pod's own spec, and few: those that trimtab does not set itself.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from trimtab.api.common import ApiModel, cel
from trimtab.api.v1alpha1.affinity import Affinity, Key, Value

RESERVED_PREFIXES = ("trimtab.dev/", "app.kubernetes.io/", "spark-")
"""Of labels and annotations: trimtab and Spark find their pods by them."""

PullPolicy = Literal["Always", "IfNotPresent", "Never"]
Role = Literal["driver", "executor"]

_RESERVED = (
    " || ".join(f"k.startsWith('{prefix}')" for prefix in RESERVED_PREFIXES),
    f"keys that begin with {', '.join(RESERVED_PREFIXES)} are reserved: choose another key",
)


def _unreserved(found: dict[str, str]) -> dict[str, str]:
    for key in found:
        if key.startswith(RESERVED_PREFIXES):
            raise ValueError(f"{key}: {_RESERVED[1]}")
    return found


_NO_RESERVED = cel((f"self.all(k, !({_RESERVED[0]}))", _RESERVED[1]))

Labels = Annotated[
    dict[
        str,
        Annotated[
            str, Field(max_length=63, pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")
        ],
    ],
    AfterValidator(_unreserved),
]
Annotations = Annotated[
    dict[str, Annotated[str, Field(max_length=4096)]], AfterValidator(_unreserved)
]


NodeSelector = Annotated[dict[str, Annotated[str, Field(max_length=63)]], Field(max_length=16)]


class PullSecret(ApiModel):
    """A Secret with the login of a registry."""

    name: str = Field(
        max_length=253,
        pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
        description="A Secret in this namespace.",
    )


class Toleration(ApiModel):
    """A taint of nodes that pods put up with."""

    key: Key | None = Field(None, description="The taint; absent: all, with operator Exists.")
    operator: Literal["Exists", "Equal"] | None = Field(None, description="Default: Equal.")
    value: Value | None = Field(None, description="The taint's value, with operator Equal.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        None, description="The taint's effect; absent: all."
    )
    seconds: int | None = Field(
        None,
        alias="tolerationSeconds",
        ge=0,
        le=10**8,
        description="How long a running pod stays, with effect NoExecute; absent: for ever.",
    )


Tolerations = Annotated[list[Toleration], Field(max_length=16)]


class _Parts(ApiModel):
    """What pods of all kinds have."""

    affinity: Affinity | None = Field(None, description="Where the pods may run.")
    priority_class_name: str | None = Field(
        None,
        alias="priorityClassName",
        max_length=253,
        pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
        description="A PriorityClass.",
    )
    labels: Labels = Field(
        default_factory=dict,
        max_length=16,
        description="Labels of the pods.",
        json_schema_extra=_NO_RESERVED,
    )
    annotations: Annotations = Field(
        default_factory=dict,
        max_length=16,
        description="Annotations of the pods.",
        json_schema_extra=_NO_RESERVED,
    )


class PodTemplate(_Parts):
    """Parts of a pod that users choose."""

    image_pull_secrets: list[PullSecret] = Field(
        default_factory=list,
        alias="imagePullSecrets",
        max_length=8,
        description="Logins of registries, beside those of the operator's chart.",
    )
    image_pull_policy: PullPolicy | None = Field(
        None, alias="imagePullPolicy", description="Default: that of the operator's chart."
    )
    tolerations: Tolerations = Field(
        default_factory=list, description="Taints that the pods put up with."
    )

    def scheduling(self) -> dict[str, Any]:
        """The parts that go into a pod's spec as they stand."""
        parts = {"tolerations", "affinity", "priority_class_name"}
        written = self.model_dump(
            mode="json", by_alias=True, include=parts, exclude_defaults=True, exclude_none=True
        )
        return dict(written)


class RolePods(_Parts):
    """Parts of the pods of one role alone: what is said here wins over what both have.

    Labels, annotations and node selectors are added key by key; anything else stands in place of
    the same part of both.
    """

    node_selector: NodeSelector = Field(
        default_factory=dict,
        alias="nodeSelector",
        description="Node labels required beside those of spec.nodeSelector.",
    )
    tolerations: Tolerations | None = Field(
        None, description="Taints that these pods put up with, in place of those for both."
    )


class TopologySpread(ApiModel):
    """How evenly the executors of the pipeline are spread."""

    max_skew: int = Field(
        1,
        alias="maxSkew",
        ge=1,
        le=100,
        description="How many more one place may have than another.",
    )
    topology_key: Key = Field(
        alias="topologyKey", description="The node label whose value is the place."
    )
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = Field(
        "ScheduleAnyway",
        alias="whenUnsatisfiable",
        description="DoNotSchedule: an executor waits until it fits.",
    )


class ExecutorPods(RolePods):
    """Parts of the executors' pods alone."""

    topology_spread_constraints: list[TopologySpread] = Field(
        default_factory=list,
        alias="topologySpreadConstraints",
        max_length=4,
        description="How the executors of this pipeline are spread over nodes or zones.",
    )


class PipelinePodTemplate(PodTemplate):
    """Parts of the pods of driver and executors, and of each alone."""

    driver: RolePods | None = Field(None, description="Of the driver alone; wins.")
    executor: ExecutorPods | None = Field(None, description="Of the executors alone; wins.")

    def of(self, role: Role) -> PodTemplate:
        """The parts of one role's pods."""
        own = self.driver if role == "driver" else self.executor
        parts = {name: getattr(self, name) for name in PodTemplate.model_fields}
        if own is not None:
            for name in ("tolerations", "affinity", "priority_class_name"):
                parts[name] = parts[name] if getattr(own, name) is None else getattr(own, name)
            for name in ("labels", "annotations"):
                parts[name] = parts[name] | getattr(own, name)
        return PodTemplate(**parts)


class ServiceAccount(ApiModel):
    """What users add to the accounts of a pipeline's pods, which trimtab makes."""

    annotations: Annotations = Field(
        default_factory=dict,
        max_length=16,
        description="Annotations of the driver's and of the executors' account, such as those that"
        " name an identity of a cloud.",
        json_schema_extra=_NO_RESERVED,
    )

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


class PodTemplate(ApiModel):
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
    tolerations: list[Toleration] = Field(
        default_factory=list, max_length=16, description="Taints that the pods put up with."
    )
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

    def scheduling(self) -> dict[str, Any]:
        """The parts that go into a pod's spec as they stand."""
        parts = {"tolerations", "affinity", "priority_class_name"}
        written = self.model_dump(
            mode="json", by_alias=True, include=parts, exclude_defaults=True, exclude_none=True
        )
        return dict(written)


class ServiceAccount(ApiModel):
    """What users add to the accounts of a pipeline's pods, which trimtab makes."""

    annotations: Annotations = Field(
        default_factory=dict,
        max_length=16,
        description="Annotations of the driver's and of the executors' account, such as those that"
        " name an identity of a cloud.",
        json_schema_extra=_NO_RESERVED,
    )

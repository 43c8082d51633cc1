"""What a cluster says of itself to somebody who asks whether trimtab can work in it."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.api.common import GROUP
from trimtab.ports import Manifest


@dataclass(frozen=True, slots=True)
class Unread:
    """The API server refused to tell; has its words."""

    words: str


Listed = tuple[Manifest, ...] | Unread


@dataclass(frozen=True, slots=True)
class Right:
    """Something that a user may do in a namespace."""

    verb: str
    resource: str
    group: str = ""


RIGHTS = (
    *(Right(verb, "streampipelines", GROUP) for verb in ("create", "get", "list", "patch")),
    Right("get", "configmaps"),
)
"""What a user needs: pipelines, and the ConfigMaps that hold their histories."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What was read of one cluster, for pipelines in one namespace."""

    version: str
    """Of Kubernetes, such as `v1.35.4`."""
    namespace: str
    home: Manifest | Unread | None
    """The namespace itself; None: there is none of that name."""
    crds: Listed
    operators: Listed
    """The Deployments of operators, in all namespaces."""
    denied: tuple[Right, ...]
    """Those of RIGHTS that this user lacks in the namespace."""
    classes: Listed
    """StorageClasses."""
    pipelines: Listed
    """StreamPipelines, of all namespaces where this user may list them, else of the namespace."""
    quotas: Listed
    ranges: Listed
    """LimitRanges."""

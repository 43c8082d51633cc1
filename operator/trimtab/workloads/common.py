"""Names, labels, owner references and hashes that every child shares."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from trimtab.api.common import API_VERSION
from trimtab.api.kinds import KINDS
from trimtab.api.modules import COPIED_DIRECTORY
from trimtab.api.packages import PACKAGES_DIRECTORY
from trimtab.api.pod_user import PodUser
from trimtab.api.quantities import format_quantity
from trimtab.ports import Manifest

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = {MANAGED_BY_LABEL: "trimtab"}
MANAGED_SELECTOR = f"{MANAGED_BY_LABEL}=trimtab"
"""Selects our own objects at the API server."""
HASH_ANNOTATION = "trimtab.dev/applied-hash"
INPUTS_ANNOTATION = "trimtab.dev/inputs-hash"
PIPELINE_LABEL = "trimtab.dev/pipeline"
KAFKA_LABEL = "trimtab.dev/kafka"
COMPONENT_LABEL = "trimtab.dev/component"

SCRATCH = {
    "tmp": ("/tmp", "2Gi"),  # noqa: S108
    "work": ("/opt/work", "1Gi"),
    "packages": (PACKAGES_DIRECTORY, "2Gi"),
    "copied": (COPIED_DIRECTORY, "1Gi"),
}
"""What a container writes beside its volumes: path and limit by volume name."""
SCRATCH_REQUEST = "512Mi"
"""Ephemeral storage that each pod reserves."""

CONTAINER_SECURITY: Manifest = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod_security(user: PodUser) -> Manifest:
    """A pod's securityContext, which passes the Pod Security level `restricted`."""
    return {
        "runAsNonRoot": True,
        **user.model_dump(by_alias=True, exclude_none=True),
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def digest(data: Any) -> str:
    """Ten hex digits that change with the data."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def resources(cpu_request: str, memory_bytes: int) -> Manifest:
    """A container's resources: CPU is reserved but not limited; memory is both."""
    memory = format_quantity(memory_bytes)
    requests = {"cpu": cpu_request, "memory": memory, "ephemeral-storage": SCRATCH_REQUEST}
    return {"requests": requests, "limits": {"memory": memory}}


def scratch(*names: str) -> tuple[list[Manifest], list[Manifest]]:
    """Volumes and mounts of `SCRATCH` by name: the root file system is read-only."""
    chosen = {name: SCRATCH[name] for name in names}
    volumes = [{"name": n, "emptyDir": {"sizeLimit": limit}} for n, (_, limit) in chosen.items()]
    return volumes, [{"name": n, "mountPath": path} for n, (path, _) in chosen.items()]


def owner(parent: Manifest) -> Manifest:
    """The owner reference to a custom resource."""
    return {
        "apiVersion": API_VERSION,
        "kind": parent["kind"],
        "name": parent["metadata"]["name"],
        "uid": parent["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": False,
    }


def child(
    parent: Manifest,
    kind: str,
    name: str,
    labels: dict[str, str],
    body: Manifest,
    *,
    owned: bool = True,
    annotations: dict[str, str] | None = None,
) -> Manifest:
    """A child object, stamped with the hash of its desired state."""
    metadata: Manifest = {
        "name": name,
        "namespace": parent["metadata"]["namespace"],
        "labels": MANAGED_BY | labels,
    }
    if owned:
        metadata["ownerReferences"] = [owner(parent)]
    if annotations:
        metadata["annotations"] = annotations
    manifest = {"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": metadata, **body}
    metadata["annotations"] = (annotations or {}) | {HASH_ANNOTATION: digest(manifest)}
    return manifest

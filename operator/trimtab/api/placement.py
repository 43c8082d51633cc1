"""Where a pod runs, told to its containers as environment variables.

The node's name is known to every pod. The zone is a label of the node, which Kubernetes copies to
the pod when it binds it, from 1.35 on. Where the label is missing the variable is empty.
"""

from __future__ import annotations

from typing import Any

ZONE_LABEL = "topology.kubernetes.io/zone"
HOST_LABEL = "kubernetes.io/hostname"
NODE_VARIABLE = "TRIMTAB_NODE"
ZONE_VARIABLE = "TRIMTAB_ZONE"


def variable(name: str, field_path: str) -> dict[str, Any]:
    """One environment variable of a container that holds a field of its pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field_path}}}


def variables() -> list[dict[str, Any]]:
    """The environment variables that tell a container its node and its zone."""
    return [
        variable(NODE_VARIABLE, "spec.nodeName"),
        variable(ZONE_VARIABLE, f"metadata.labels['{ZONE_LABEL}']"),
    ]

"""Tells a pod's containers where the pod runs, by environment variables.

Every pod knows its node's name. The zone is a label of the node, which Kubernetes 1.35 and later
copies to a pod when binding it. If the label is missing, the variable is empty.
"""

from __future__ import annotations

from typing import Any

ZONE_LABEL = "topology.kubernetes.io/zone"
HOST_LABEL = "kubernetes.io/hostname"
NODE_VARIABLE = "TRIMTAB_NODE"
ZONE_VARIABLE = "TRIMTAB_ZONE"


def variable(name: str, field_path: str) -> dict[str, Any]:
    """An environment variable that holds a field of the container's pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field_path}}}


def variables() -> list[dict[str, Any]]:
    """The environment variables that tell a container its node and its zone."""
    return [
        variable(NODE_VARIABLE, "spec.nodeName"),
        variable(ZONE_VARIABLE, f"metadata.labels['{ZONE_LABEL}']"),
    ]

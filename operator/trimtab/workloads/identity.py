"""The accounts of a pipeline's pods, and what the driver's may do."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.api.kinds import EXECUTORS, MOUNT
from trimtab.ports import Manifest
from trimtab.workloads.common import child
from trimtab.workloads.names import driver_account, executor_account, labels, tuning_name


def accounts(parent: Manifest, secrets: Iterable[str]) -> list[Manifest]:
    """Service accounts and the driver's role: executor pods, tuning document, Secrets to mount."""
    name, namespace = parent["metadata"]["name"], parent["metadata"]["namespace"]
    account, no_token = driver_account(name), {"automountServiceAccountToken": False}
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": [*EXECUTORS]},
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": [tuning_name(name)],
            "verbs": ["get", "list", "watch"],
        },
        *_mounting(sorted(secrets)),
    ]
    role_ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    binding = {"roleRef": role_ref, "subjects": [subject]}
    return [
        child(parent, "ServiceAccount", account, labels(parent), {}),
        child(parent, "ServiceAccount", executor_account(name), labels(parent), no_token),
        child(parent, "Role", account, labels(parent), {"rules": rules}),
        child(parent, "RoleBinding", account, labels(parent), binding),
    ]


def _mounting(names: list[str]) -> list[Manifest]:
    """The rule for these Secrets; none without: an empty list of names would mean all."""
    rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": names, "verbs": [MOUNT]}
    return [rule] if names else []

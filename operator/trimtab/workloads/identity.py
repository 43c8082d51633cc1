"""The accounts of a pipeline's pods, and what the driver's may do."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.api.kinds import EXECUTORS, MOUNT
from trimtab.api.v1alpha1.pod_template import ServiceAccount
from trimtab.ports import Manifest
from trimtab.workloads.common import child
from trimtab.workloads.names import driver_account, executor_account, labels, tuning_name


def accounts(
    parent: Manifest, mounted: Iterable[tuple[str, str]], asked: ServiceAccount | None = None
) -> list[Manifest]:
    """Service accounts and the driver's role: executor pods, tuning document, what they mount.

    `mounted` has resource and name of each object that executors may mount, `asked` what the spec
    says of both accounts.
    """
    annotations = asked.annotations if asked else None
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
        *_mounting(mounted),
    ]
    role_ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    binding = {"roleRef": role_ref, "subjects": [subject]}
    return [
        *(
            child(parent, "ServiceAccount", each, labels(parent), body, annotations=annotations)
            for each, body in ((account, {}), (executor_account(name), no_token))
        ),
        child(parent, "Role", account, labels(parent), {"rules": rules}),
        child(parent, "RoleBinding", account, labels(parent), binding),
    ]


def _mounting(mounted: Iterable[tuple[str, str]]) -> list[Manifest]:
    """A rule for each resource; none without names: an empty list of names would mean all."""
    names: dict[str, list[str]] = {}
    for resource, name in sorted(mounted):
        names.setdefault(resource, []).append(name)
    return [
        {"apiGroups": [""], "resources": [resource], "resourceNames": found, "verbs": [MOUNT]}
        for resource, found in names.items()
    ]

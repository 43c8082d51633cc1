"""Executor pods: what Spark has a key for, and the template for the rest."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.api import placement
from trimtab.api.contract import CHECKPOINT_DIRECTORY, Executors
from trimtab.api.memory import SCRATCH_BYTES
from trimtab.api.pod_user import DEFAULT_USER
from trimtab.api.quantities import format_quantity
from trimtab.api.v1alpha1.kafka_client import SecretKey
from trimtab.api.v1alpha1.pod_template import PodTemplate
from trimtab.ports import Manifest
from trimtab.settings import DEFAULT_PULL_POLICY
from trimtab.workloads.common import (
    CONTAINER_SECURITY,
    SCRATCH_REQUEST,
    pod_security,
    resources,
    scratch,
)
from trimtab.workloads.packages import installing
from trimtab.workloads.secrets import secret_volumes
from trimtab.workloads.volumes import user_volumes

LOCAL_DIR = "spark-local-dir-1"
_IMAGE = "spark.kubernetes.container.image"
_POD = "spark.kubernetes.executor"


def keys(template: PodTemplate | None) -> dict[str, str]:
    """Spark's keys for what it sets itself, and would set over a pod template."""
    if template is None:
        return {}
    found = {f"{_POD}.label.{name}": value for name, value in template.labels.items()}
    found |= {f"{_POD}.annotation.{name}": value for name, value in template.annotations.items()}
    if template.image_pull_policy is not None:
        found[f"{_IMAGE}.pullPolicy"] = template.image_pull_policy
    if template.image_pull_secrets:
        found[f"{_IMAGE}.pullSecrets"] = ",".join(s.name for s in template.image_pull_secrets)
    return found


def pod_template(pods: Executors, secrets: Iterable[SecretKey]) -> Manifest:
    """Executor pods as far as Spark has no key for it; they mount these Secrets too.

    They pass the Pod Security level `restricted`, and hold no token of the API server.
    """
    volumes, mounts = scratch("tmp", "work")
    # Spark takes a volume of this name for its local directory, else one without a limit
    limit = format_quantity(pods.scratch_bytes or SCRATCH_BYTES)
    volumes.append({"name": LOCAL_DIR, "emptyDir": {"sizeLimit": limit}})
    mounts.append({"name": LOCAL_DIR, "mountPath": f"/var/data/{LOCAL_DIR}"})
    for added in (
        secret_volumes(secrets, optional=False),
        user_volumes(pods.volumes or (), optional=False),
    ):
        volumes += added[0]
        mounts += added[1]
    if pods.checkpoint_claim is not None:
        claim = {"claimName": pods.checkpoint_claim}
        volumes.append({"name": "checkpoint", "persistentVolumeClaim": claim})
        mounts.append({"name": "checkpoint", "mountPath": CHECKPOINT_DIRECTORY})
    sizes = resources(pods.cpu_request, pods.memory_bytes)
    first = installing(pods.packages, pods.image, sizes)
    volumes, mounts = [*volumes, *first.volumes], [*mounts, *first.mounts]
    container: Manifest = {
        "env": [*placement.variables(), *first.variables, *_read_elsewhere(pods)],
        "securityContext": CONTAINER_SECURITY,
        "resources": {"requests": {"ephemeral-storage": SCRATCH_REQUEST}},
        "volumeMounts": mounts,
    }
    spec: Manifest = {
        "containers": [container],
        # as in the driver's pod: with a shared checkpoint, each writes the other's files
        "securityContext": pod_security(pods.pod_user or DEFAULT_USER),
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "volumes": volumes,
    }
    if first.containers:
        policy = (pods.pod_template or PodTemplate()).image_pull_policy or DEFAULT_PULL_POLICY
        spec["initContainers"] = [each | {"imagePullPolicy": policy} for each in first.containers]
    if pods.topology_spread:
        alike = {"labelSelector": {"matchLabels": dict(pods.labels)}}
        spec["topologySpreadConstraints"] = [
            each.model_dump(mode="json", by_alias=True) | alike for each in pods.topology_spread
        ]
    if pods.pod_template is not None:
        spec |= pods.pod_template.scheduling()
    return {"apiVersion": "v1", "kind": "Pod", "spec": spec}


def _read_elsewhere(pods: Executors) -> list[Manifest]:
    """Variables for which Spark has no key that names a ConfigMap."""
    named = (pods.env_from or {}).items()
    return [{"name": name, "valueFrom": source.to_dict()} for name, source in named]

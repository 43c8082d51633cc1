"""The driver: a StatefulSet with one replica, so that at most one driver uses a checkpoint.

Its update strategy is `OnDelete`, and its template carries the hash of the user's inputs: the
operator deletes the pod when that hash changes, so an operator upgrade alone restarts nothing.
"""

from __future__ import annotations

from trimtab.api import placement
from trimtab.api.contract import (
    CHECKPOINT_DIRECTORY,
    JOB_DIRECTORY,
    MODULES_DIRECTORY,
    TUNING_DIRECTORY,
    Job,
)
from trimtab.api.kinds import KINDS
from trimtab.api.listening import FIXED_PORTS, METRICS_PORT, UI_PORT
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.ports import Manifest
from trimtab.settings import OperatorSettings
from trimtab.workloads import pods
from trimtab.workloads.common import (
    COMPONENT_LABEL,
    CONTAINER_SECURITY,
    HASH_ANNOTATION,
    INPUTS_ANNOTATION,
    MANAGED_BY,
    child,
    digest,
    pod_security,
    resources,
    scratch,
)
from trimtab.workloads.modules import copying
from trimtab.workloads.names import (
    claim_name,
    driver_account,
    driver_name,
    job_name,
    labels,
    tuning_name,
    ui_name,
)
from trimtab.workloads.packages import installing
from trimtab.workloads.secrets import secret_volumes
from trimtab.workloads.volumes import user_volumes


def disruption_budget(parent: Manifest) -> Manifest:
    """Refuses each eviction of the driver, unless it is not ready: then it loses nothing."""
    body: Manifest = {
        "spec": {
            "maxUnavailable": 0,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": _selector(parent)},
        }
    }
    name = driver_name(parent["metadata"]["name"])
    return child(parent, "PodDisruptionBudget", name, labels(parent), body)


def ui_service(parent: Manifest) -> Manifest:
    """Leads to Spark's web UI, also while the driver is not ready: then it is looked at most."""
    body: Manifest = {
        "spec": {
            "type": "ClusterIP",
            "publishNotReadyAddresses": True,
            "selector": _selector(parent),
            "ports": [{"name": "http", "port": UI_PORT, "protocol": "TCP", "targetPort": UI_PORT}],
        }
    }
    return child(parent, "Service", ui_name(parent["metadata"]["name"]), labels(parent), body)


def _selector(parent: Manifest) -> dict[str, str]:
    return labels(parent) | {COMPONENT_LABEL: "driver"}


def stateful_set(
    parent: Manifest, spec: StreamPipelineSpec, job: Job, config: OperatorSettings,
    java_options: str = "",
) -> Manifest:  # fmt: skip
    """The driver; scaled to zero while the pipeline is suspended."""
    name = parent["metadata"]["name"]
    selector = _selector(parent)
    template = {
        "metadata": {"labels": MANAGED_BY | selector | FIXED_PORTS},
        "spec": _pod(name, spec, job, config),
    }
    body: Manifest = {
        "serviceName": driver_name(name),
        "replicas": 0 if spec.suspend else 1,
        "updateStrategy": {"type": "OnDelete"},
        "selector": {"matchLabels": selector},
        "template": pods.shaped(template, pods.pod_template(spec.pods_of("driver"), config)),
    }
    if java_options:
        (container,) = body["template"]["spec"]["containers"]
        container["env"].append({"name": "TRIMTAB_DRIVER_JAVA_OPTIONS", "value": java_options})
    return child(parent, "StatefulSet", driver_name(name), selector, {"spec": body})


def with_inputs(stateful_set: Manifest, inputs: str) -> Manifest:
    """The driver's StatefulSet with the inputs' hash on its pods."""
    metadata = stateful_set["spec"]["template"]["metadata"]
    metadata["annotations"] = metadata.get("annotations", {}) | {INPUTS_ANNOTATION: inputs}
    annotations = stateful_set["metadata"]["annotations"]
    annotations[HASH_ANNOTATION] = digest([annotations[HASH_ANNOTATION], inputs])
    return stateful_set


def scaled(live: Manifest, replicas: int) -> Manifest:
    """A driver's StatefulSet with other replicas; its hash then matches no desired state."""
    meta = live["metadata"]
    kept = {k: meta[k] for k in ("name", "namespace", "labels", "ownerReferences") if k in meta}
    annotations = (meta.get("annotations") or {}) | {HASH_ANNOTATION: "scaled"}
    return {
        "apiVersion": KINDS["StatefulSet"].api_version,
        "kind": "StatefulSet",
        "metadata": kept | {"annotations": annotations},
        "spec": live["spec"] | {"replicas": replicas},
    }


def _pod(name: str, spec: StreamPipelineSpec, job: Job, config: OperatorSettings) -> Manifest:
    volumes, mounts = scratch("tmp", "work")
    volumes += [
        {"name": "job", "configMap": {"name": job_name(name, job.to_json())}},
        {"name": "tuning", "configMap": {"name": tuning_name(name)}},
    ]
    mounts += [
        {"name": "job", "mountPath": JOB_DIRECTORY},
        {"name": "tuning", "mountPath": TUNING_DIRECTORY},
    ]
    for added in (
        secret_volumes(job.secret_keys, optional=True),
        user_volumes(spec.volumes, optional=True),
    ):
        volumes += added[0]
        mounts += added[1]
    if spec.checkpoint.claim is not None:
        claim = {"claimName": claim_name(name)}
        volumes.append({"name": "checkpoint", "persistentVolumeClaim": claim})
        mounts.append({"name": "checkpoint", "mountPath": CHECKPOINT_DIRECTORY})
    python = spec.transform.python
    if python and python.config_map:
        volumes.append({"name": "modules", "configMap": {"name": python.config_map}})
        mounts.append({"name": "modules", "mountPath": MODULES_DIRECTORY})
    container = _driver(name, spec, config, mounts)
    first = installing(job.packages, container["image"], container["resources"])
    copied = copying(job.transform.modules_from, container["resources"])
    mounts += [*first.mounts, *copied.mounts]
    container["env"] += first.variables
    pod: Manifest = {
        "serviceAccountName": driver_account(name),
        "securityContext": pod_security(config.pod_user),
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": int(job.drain_timeout_s) + 15,
        "containers": [container],
        "volumes": [*volumes, *first.volumes, *copied.volumes],
    }
    if before := [*copied.containers, *first.containers]:
        pod["initContainers"] = before
    if nodes := spec.nodes_of("driver"):
        pod["nodeSelector"] = nodes
    return pod


def _driver(
    name: str, spec: StreamPipelineSpec, config: OperatorSettings, mounts: list[Manifest]
) -> Manifest:
    sizes = spec.resources.driver
    return {
        "name": "driver",
        "image": spec.image or config.pipeline_image,
        "args": ["driver"],
        "env": [
            placement.variable("TRIMTAB_NAMESPACE", "metadata.namespace"),
            placement.variable("TRIMTAB_POD_NAME", "metadata.name"),
            placement.variable("TRIMTAB_POD_UID", "metadata.uid"),
            placement.variable("TRIMTAB_POD_IP", "status.podIP"),
            *placement.variables(),
            {"name": "TRIMTAB_TUNING_CONFIGMAP", "value": tuning_name(name)},
            {"name": "TRIMTAB_DRIVER_MEMORY_BYTES", "value": str(sizes.memory)},
            *(variable.to_dict() for variable in spec.env),
        ],
        "ports": [{"name": "metrics", "containerPort": METRICS_PORT}],
        "readinessProbe": {
            "httpGet": {"path": "/ready", "port": "metrics"},
            "periodSeconds": 2,
            "timeoutSeconds": 3,
        },
        # generous: a probe that a busy node answers late must not end a query that runs
        "livenessProbe": {
            "httpGet": {"path": "/live", "port": "metrics"},
            "periodSeconds": 10,
            "timeoutSeconds": 10,
            "failureThreshold": 6,
        },
        "securityContext": CONTAINER_SECURITY,
        "resources": resources(sizes.cpu_request, sizes.memory),
        "volumeMounts": mounts,
        "terminationMessagePolicy": "File",
    }

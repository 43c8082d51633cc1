"""The pods of a KafkaCluster's brokers: StatefulSet and PodDisruptionBudget. Pure.

The update strategy is `OnDelete`: the operator replaces a broker only while all others are in
sync. The template carries a hash of what the user chooses, so that pods that lack an edit can be
told from pods that an older operator made.
"""

from __future__ import annotations

from trimtab.api import placement
from trimtab.api.listening import BROKER_PORT, CONTROLLER_PORT, PROBE_PORT
from trimtab.api.memory import BROKER_HEAP_SHARE
from trimtab.api.quantities import format_quantity, parse_quantity
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec, Storage
from trimtab.ports import Manifest
from trimtab.settings import OperatorSettings
from trimtab.workloads import pods
from trimtab.workloads.common import (
    CONTAINER_SECURITY,
    INPUTS_ANNOTATION,
    MANAGED_BY,
    child,
    digest,
    pod_security,
    resources,
    scratch,
)
from trimtab.workloads.kafka import listeners, names
from trimtab.workloads.kafka.material import Material

COMPONENT = "kafka"
CHOICES_ANNOTATION = "trimtab.dev/choices-hash"
"""On a broker's pod: the hash of what the user has chosen for it."""

DATA = "/var/lib/kafka"

START_S = 3600
"""Seconds for which a broker may start: after a crash it first reads through its logs."""
IN_SYNC = ["python3", "-I", "/opt/kafka/in_sync.py"]
UPDATES = {"type": "OnDelete"}


def choices(spec: KafkaClusterSpec, material: Material | None = None) -> str:
    """The hash of what users choose for the brokers' pods, and of their certificate.

    Without defaults, which a newer operator may change, and without what is empty.
    """
    fields = {"image", "resources", "pod_template", "spread"}
    chosen = spec.model_dump(mode="json", include=fields, exclude_defaults=True)
    stores = {"stores": material.stores} if material else {}
    return digest({field: choice for field, choice in chosen.items() if choice} | stores)


def disruption_budget(parent: Manifest, spec: KafkaClusterSpec) -> list[Manifest]:
    """Let drains take one broker at a time, and only while all others are in sync.

    None for a single broker: it would block the drain of its node forever.
    """
    if spec.replicas == 1:
        return []
    name = parent["metadata"]["name"]
    labels = names.labels(name, COMPONENT)
    body = {"spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}}}
    return [child(parent, "PodDisruptionBudget", names.brokers_name(name), labels, body)]


def made_storage(spec: KafkaClusterSpec, live: Manifest | None) -> Storage:
    """The storage in the claims' template of a StatefulSet, which cannot change once it is made."""
    made = ((live or {}).get("spec") or {}).get("volumeClaimTemplates")
    if not made:
        return spec.storage
    claim = made[0]["spec"]
    return Storage(
        size=parse_quantity(claim["resources"]["requests"]["storage"]),
        storage_class_name=claim.get("storageClassName"),
    )


def taken_over(live: Manifest) -> Manifest | None:
    """A StatefulSet whose brokers Kubernetes replaces, as an older operator made it, without that.

    None if it is so already. An apply could not change it: it leaves the settings of the other
    strategy, which the API server refuses beside `OnDelete`.
    """
    spec = live.get("spec") or {}
    if (spec.get("updateStrategy") or UPDATES)["type"] == UPDATES["type"]:
        return None
    return live | {"spec": spec | {"updateStrategy": UPDATES}}


def stateful_set(
    parent: Manifest, spec: KafkaClusterSpec, config: OperatorSettings, properties: str,
    live: Manifest | None, *, material: Material | None = None,
) -> Manifest:  # fmt: skip
    """The brokers; `live` is the StatefulSet that there is, `material` what the Secrets hold."""
    name = parent["metadata"]["name"]
    selector = names.labels(name, COMPONENT)
    template = {
        "metadata": {
            "labels": MANAGED_BY | selector,
            "annotations": {
                INPUTS_ANNOTATION: digest(properties),
                CHOICES_ANNOTATION: choices(spec, material),
            },
        },
        "spec": {
            "securityContext": pod_security(config.pod_user),
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 60,
            "topologySpreadConstraints": _spread(spec, selector),
            "containers": [_broker(parent, spec, config)],
            "volumes": [
                *scratch("tmp")[0],
                {"name": "config", "configMap": {"name": names.config_name(name)}},
                *listeners.stores(parent, spec)[0],
            ],
        },
    }
    body = {
        "serviceName": names.brokers_name(name),
        "replicas": spec.replicas,
        "podManagementPolicy": "Parallel",
        "updateStrategy": UPDATES,
        "persistentVolumeClaimRetentionPolicy": {
            "whenDeleted": spec.deletion_policy,
            "whenScaled": "Retain",
        },
        "selector": {"matchLabels": selector},
        "volumeClaimTemplates": [_claim(selector, made_storage(spec, live))],
        "template": pods.shaped(template, pods.pod_template(spec.pod_template, config)),
    }
    return child(parent, "StatefulSet", names.brokers_name(name), selector, {"spec": body})


def _claim(selector: dict[str, str], storage: Storage) -> Manifest:
    claim: Manifest = {
        "metadata": {"name": names.VOLUME, "labels": MANAGED_BY | selector},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": format_quantity(storage.size)}},
        },
    }
    if storage.storage_class_name:
        claim["spec"]["storageClassName"] = storage.storage_class_name
    return claim


def _spread(spec: KafkaClusterSpec, selector: dict[str, str]) -> list[Manifest]:
    """As even as possible over zones; over nodes, a must unless the spec says otherwise.

    Even means that no node has two brokers more than another, so that they share nodes only where
    there are too few. Nodes whose taints the pods do not tolerate do not count.
    """
    must = "DoNotSchedule" if spec.spread == "Required" else "ScheduleAnyway"
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": unsatisfiable,
            "nodeTaintsPolicy": "Honor",
            "labelSelector": {"matchLabels": selector},
        }
        for key, unsatisfiable in (
            (placement.ZONE_LABEL, "ScheduleAnyway"),
            (placement.HOST_LABEL, must),
        )
    ]


def _broker(parent: Manifest, spec: KafkaClusterSpec, config: OperatorSettings) -> Manifest:
    name, namespace = parent["metadata"]["name"], parent["metadata"]["namespace"]
    heap_mib = int(spec.resources.memory * BROKER_HEAP_SHARE) >> 20
    index = "metadata.labels['apps.kubernetes.io/pod-index']"
    told = listeners.advertised(spec, names.address(name, namespace, "$(POD_INDEX)"))
    return {
        "name": "kafka",
        "image": spec.image or config.kafka_image,
        "args": ["run"],
        "env": [
            placement.variable("POD_INDEX", index),
            *placement.variables(),
            *([{"name": "PROBE_PORT", "value": str(PROBE_PORT)}] if spec.security else ()),
            {"name": "KAFKA_CLUSTER_ID", "value": names.cluster_id(namespace, name)},
            {"name": "KAFKA_HEAP_OPTS", "value": f"-Xms{heap_mib}m -Xmx{heap_mib}m"},
            {
                "name": "KAFKA_OVERRIDES",
                "value": f"node.id=$(POD_INDEX) advertised.listeners={told}"
                f" broker.rack=$({placement.ZONE_VARIABLE})",
            },
        ],
        "ports": [
            {"name": "client", "containerPort": BROKER_PORT},
            {"name": "controller", "containerPort": CONTROLLER_PORT},
        ],
        **_probes(),
        "securityContext": CONTAINER_SECURITY,
        "resources": resources(spec.resources.cpu_request, spec.resources.memory),
        "volumeMounts": [
            *scratch("tmp")[1],
            {"name": names.VOLUME, "mountPath": DATA},
            {"name": "config", "mountPath": "/etc/kafka"},
            *listeners.stores(parent, spec)[1],
        ],
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _probes() -> Manifest:
    """Started once its port opens, which is when the controllers have unfenced it; ready in sync.

    A busy broker is not restarted for a late answer: to live, it need only take connections. While
    the controllers elect a leader, which takes seconds, no broker gets an answer from them: a ready
    one stays ready for three probes.
    """
    port = {"tcpSocket": {"port": "client"}, "timeoutSeconds": 3}
    in_sync = {"exec": {"command": IN_SYNC}, "periodSeconds": 5, "timeoutSeconds": 5}
    return {
        "startupProbe": port | {"periodSeconds": 2, "failureThreshold": START_S // 2},
        "readinessProbe": in_sync | {"failureThreshold": 3},
        "livenessProbe": port | {"periodSeconds": 10, "failureThreshold": 6},
    }

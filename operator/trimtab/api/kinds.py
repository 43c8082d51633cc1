"""Every kind that the operator reads or writes: one table for watches, lists and permissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab.api.common import API_VERSION

SEEN = ("list", "watch")
READ = ("get", *SEEN)
APPLIED = ("create", "get", "list", "watch", "patch")
"""Verbs for a child: patch is server-side apply, which takes create for a new object; get reads
the object that has the child's name already. Owner references delete it with its owner."""
REPLACED = (*APPLIED, "update")
"""Of which fields that somebody added are removed, which takes a replacement. In the lists of a
Role and of its binding, nobody can add an item: an apply takes them back as a whole."""
EXECUTORS = ("create", "get", "list", "watch", "patch", "delete", "deletecollection")
"""What the role of a driver allows it to do with pods; nobody may grant more than they have."""
MOUNT = "mount"
"""A verb that Kubernetes itself does not know: the holder may make executors that mount the object.

The chart's policy for drivers asks for it. Nobody can read a Secret with it.
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: its names, and what the operator may do with it."""

    name: str
    plural: str
    api_version: str
    verbs: tuple[str, ...]
    """What the chart's role must allow."""
    ours: bool = False
    """One of our own kinds: all its objects are read; of others, only those with our label."""
    short: str = ""
    """The short name for kubectl; our own kinds have one."""
    watched: bool = True
    of_cluster: bool = False
    """It belongs to no namespace: an operator of some namespaces only does not see it."""

    @property
    def group(self) -> str:
        """The API group; empty for the core."""
        return self.api_version.rpartition("/")[0]


STREAM_PIPELINE = Kind(
    "StreamPipeline", "streampipelines", API_VERSION, READ, ours=True, short="spl"
)
KAFKA_CLUSTER = Kind("KafkaCluster", "kafkaclusters", API_VERSION, READ, ours=True, short="tkc")
TUNING_POLICY = Kind("TuningPolicy", "tuningpolicies", API_VERSION, SEEN, ours=True, short="tpol")
CLUSTER_TUNING_POLICY = Kind(
    "ClusterTuningPolicy", "clustertuningpolicies", API_VERSION, SEEN, ours=True, short="ctpol",
    of_cluster=True,
)  # fmt: skip

STRIMZI = "kafka.strimzi.io/v1"
SPARK_GROUPS = ("sparkoperator.k8s.io", "spark.apache.org")
"""The API groups of SparkApplications: of Kubeflow's operator, and of Apache's."""
_RBAC = "rbac.authorization.k8s.io/v1"

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        STREAM_PIPELINE,
        KAFKA_CLUSTER,
        TUNING_POLICY,
        CLUSTER_TUNING_POLICY,
        Kind("StatefulSet", "statefulsets", "apps/v1", REPLACED),
        Kind("Pod", "pods", "v1", EXECUTORS),
        Kind("Job", "jobs", "batch/v1", (*APPLIED, "delete")),
        Kind("PodDisruptionBudget", "poddisruptionbudgets", "policy/v1", (*APPLIED, "delete")),
        Kind("ConfigMap", "configmaps", "v1", (*APPLIED, "delete", MOUNT)),
        Kind("PersistentVolumeClaim", "persistentvolumeclaims", "v1", (*APPLIED, MOUNT)),
        Kind("Service", "services", "v1", (*REPLACED, "delete")),
        Kind("NetworkPolicy", "networkpolicies", "networking.k8s.io/v1", (*REPLACED, "delete")),
        Kind("ServiceAccount", "serviceaccounts", "v1", (*APPLIED, "delete")),
        Kind("Role", "roles", _RBAC, (*APPLIED, "delete")),
        Kind("RoleBinding", "rolebindings", _RBAC, (*APPLIED, "delete")),
        Kind("Secret", "secrets", "v1", (MOUNT,), watched=False),
        Kind("Kafka", "kafkas", STRIMZI, ("get",), watched=False),
        Kind("KafkaUser", "kafkausers", STRIMZI, ("get",), watched=False),
        Kind("KafkaTopic", "kafkatopics", STRIMZI, ("get", "patch"), watched=False),
        Kind("Event", "events", "v1", ("create",), watched=False),
    )
}
"""By name, ours first."""

OURS = tuple(kind for kind in KINDS.values() if kind.ours)
WATCHED = tuple(kind for kind in KINDS.values() if kind.watched)


def watched_in(namespaces: Sequence[str]) -> tuple[Kind, ...]:
    """The watched kinds of an operator of some namespaces; without names, of all of them."""
    return tuple(kind for kind in WATCHED if not (namespaces and kind.of_cluster))

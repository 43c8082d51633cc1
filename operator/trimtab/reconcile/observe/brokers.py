"""The brokers of a KafkaCluster, as their pods and their StatefulSet report them."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.ports import Manifest
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.reconcile.observe.containers import IMAGE_REASONS, last_end, not_started
from trimtab.reconcile.observe.driver_pod import made_by
from trimtab.workloads.kafka.brokers import CHOICES_ANNOTATION
from trimtab.workloads.kafka.names import broker_pod

Words = tuple[str, str]
"""Reason and message."""

REVISION_LABEL = "controller-revision-hash"
FAILURES = 2
"""Times that a broker must have ended before it counts as failing: once it may by itself."""
FULL = "No space left on device"


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker's pod. It is ready if its broker is in sync in all its partitions."""

    name: str
    uid: str
    revision: str = ""
    choices: str | None = None
    """The hash of what the user chose when it was made; None if an older operator made it."""
    started: bool = False
    """Whether it serves, in sync or not."""
    ready: bool = False
    terminating: bool = False
    trouble: Words | None = None
    """What keeps it down."""

    @property
    def up(self) -> bool:
        """Whether it is in sync and stays."""
        return self.ready and not self.terminating


@dataclass(frozen=True, slots=True)
class Brokers:
    """All brokers of a cluster, by ordinal; missing ones are left out."""

    replicas: int
    """How many there should be."""
    found: tuple[Broker, ...] = ()
    choices: str | None = None
    """What a new pod would have been chosen."""
    revision: str = ""
    """Of a new pod; empty while the StatefulSet controller has not seen the newest template."""

    @property
    def ready(self) -> int:
        """How many are in sync and stay."""
        return sum(broker.up for broker in self.found)


def observe(
    stateful_set: Manifest | None, cluster: str, replicas: int, cache: ObjectCache
) -> Brokers:
    """Read the pods that the StatefulSet made."""
    if stateful_set is None:
        return Brokers(replicas)
    meta, status = stateful_set["metadata"], stateful_set.get("status") or {}
    pods = (
        made_by(cache.get("Pod", meta["namespace"], broker_pod(cluster, ordinal)), stateful_set)
        for ordinal in range(replicas)
    )
    template = ((stateful_set.get("spec") or {}).get("template") or {}).get("metadata") or {}
    seen = status.get("observedGeneration") == meta.get("generation")
    return Brokers(
        replicas=replicas,
        found=tuple(_broker(pod) for pod in pods if pod is not None),
        choices=(template.get("annotations") or {}).get(CHOICES_ANNOTATION),
        revision=status.get("updateRevision", "") if seen else "",
    )


def _broker(pod: Manifest) -> Broker:
    meta, status = pod["metadata"], pod.get("status") or {}
    conditions = status.get("conditions") or []
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    started = any(c.get("started") for c in status.get("containerStatuses") or [])
    return Broker(
        name=meta["name"],
        uid=meta["uid"],
        revision=(meta.get("labels") or {}).get(REVISION_LABEL, ""),
        choices=(meta.get("annotations") or {}).get(CHOICES_ANNOTATION),
        started=started or ready,
        ready=ready,
        terminating="deletionTimestamp" in meta,
        trouble=None if started or ready else _trouble(meta["name"], status),
    )


def _trouble(name: str, status: Manifest) -> Words | None:
    for condition in status.get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return "Unschedulable", _unplaced(name, condition.get("message", ""))
    for container in status.get("containerStatuses") or []:
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason = waiting.get("reason", "")
        if reason in IMAGE_REASONS:
            said = waiting.get("message", reason)
            return "ImageCannotStart", f"{name}: {container['image']}: {said}"
        if (words := not_started(container)) is not None:
            return "BrokerCannotStart", f"{name}: {words}"
        if failed := _ended(name, container):
            return failed
    return None


def _unplaced(name: str, why: str) -> str:
    message = f"no node fits {name}: {why}"
    if "topology spread" in why:
        message += "; spread: Preferred in the spec lets it share a node with another broker"
    return message


def _ended(name: str, container: Manifest) -> Words | None:
    """Why a broker does not stay up."""
    ended = last_end(container)
    if not ended or not ended.get("exitCode"):
        return None
    told = (ended.get("message") or "").strip()
    if told.startswith("DiskFull") or FULL in told:
        return "DiskFull", (
            f"the volume of {name} is full, and the broker does not start: raise spec.storage.size,"
            " or make room by hand as docs/api.md shows"
        )
    if container.get("restartCount", 0) < FAILURES:
        return None
    if ended.get("reason") == "OOMKilled":
        return "BrokerFailed", f"{name} ran out of memory: raise spec.resources.memory"
    tail = told.splitlines()[-1:] or [ended.get("reason", "no reason given")]
    return "BrokerFailed", f"{name} ended with exit code {ended['exitCode']}: {tail[0][:300]}"

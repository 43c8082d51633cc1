"""The pods of the drivers that run, and which series are theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trimtab.ports import Manifest, Name
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.reconcile.observe.driver_pod import driver_pod as state_of
from trimtab.reconcile.observe.driver_pod import made_by
from trimtab.workloads.names import driver_name, driver_pod
from trimtab.workloads.ownership import own


@dataclass(frozen=True, slots=True)
class Target:
    """A driver's pod, as Prometheus may tell it: by its name, or by an address."""

    pod: str
    addresses: frozenset[str] = frozenset()
    executors: frozenset[str] = frozenset()
    """The names of its executors' pods."""
    uid: str = ""
    """The uid of its pipeline."""
    address: str = ""
    """Where it can be read directly; empty while it is not ready."""

    def at(self, instance: str) -> bool:
        """Whether an `instance` (host:port) is this pod."""
        host = instance.rpartition(":")[0].strip("[]")
        return host in self.addresses


def targets(
    parents: Iterable[Manifest], cache: ObjectCache, executors: Mapping[Name, Sequence[Manifest]]
) -> Mapping[Name, Target]:
    """The drivers' pods by pipeline; only a pod that the pipeline's StatefulSet made is one.

    Executors are told apart by their label. Their names do not tell: Spark writes several dashes as
    one, so that those of the pipelines `a--b` and `a-b` are named alike.
    """
    found: dict[Name, Target] = {}
    for parent in parents:
        namespace, name = parent["metadata"]["namespace"], parent["metadata"]["name"]
        stateful_set = own(cache.get("StatefulSet", namespace, driver_name(name)), parent)
        pod = made_by(cache.get("Pod", namespace, driver_pod(name)), stateful_set)
        if pod is not None:
            ips = [ip["ip"] for ip in (pod.get("status") or {}).get("podIPs") or []]
            own_pods = frozenset(
                p["metadata"]["name"] for p in executors.get((namespace, name), ())
            )
            state = state_of(pod)
            reachable = ips[0] if ips and state.ready and not state.terminating else ""
            found[namespace, name] = Target(
                driver_pod(name), frozenset(ips), own_pods, parent["metadata"]["uid"], reachable
            )
    return found


def speaks(labels: Mapping[str, str], target: Target) -> bool:
    """Whether a series is of this pod: by the label `pod` if there is one, else by its address."""
    pod = labels.get("pod", "")
    return pod == target.pod if pod else target.at(labels.get("instance", ""))

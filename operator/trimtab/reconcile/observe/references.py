"""What a pipeline's spec refers to, and others create."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from trimtab.api.common import faults, get_condition
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec, KafkaClusterStatus
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.query import LOOP, share_server
from trimtab.ports import Manifest
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.reconcile.tick import TickContext
from trimtab.workloads.kafka.names import bootstrap_servers

Words = tuple[str, str]
"""A reason and a message."""


@dataclass(frozen=True, slots=True)
class References:
    """Objects that the spec refers to and others create."""

    servers: tuple[str, str] = ("", "")
    """Bootstrap servers of source and sink."""
    modules: Manifest | None = None
    """The ConfigMap of a Python transform; None if the spec names none."""
    missing: Words | None = None
    """What is missing, so that nothing can be created."""
    not_ready: Words | None = None
    """What must be ready before the driver is first created."""


def references(namespace: str, spec: StreamPipelineSpec, tick: TickContext) -> References:
    """Find what the spec of a pipeline refers to."""
    cache, addresses = tick.cache, []
    for named in (spec.source.kafka, spec.sink.reference):
        if named is None:
            addresses.append("")
            continue
        address = named.bootstrap_servers or _bootstrap(cache, namespace, named.cluster or "")
        if not isinstance(address, str):
            return References(missing=address)
        addresses.append(address)
    sink = spec.sink.reference
    if sink and sink.topic in spec.source.kafka.topics and share_server(*addresses):
        return References(missing=("InvalidSpec", LOOP))
    python, modules = spec.transform.python, None
    if python and python.config_map:
        key = ("ConfigMap", namespace, python.config_map)
        modules = cache.fetched(key, tick.now_s, tick.cluster.get)
        if modules is None:
            message = f"there is no ConfigMap {python.config_map!r} in namespace {namespace!r}"
            return References(missing=("ModuleNotFound", message))
    not_ready = _not_ready(spec, cache, namespace)
    return References((addresses[0], addresses[1]), modules, not_ready=not_ready)


def _bootstrap(cache: ObjectCache, namespace: str, name: str) -> str | Words:
    """The addresses of a KafkaCluster; if its spec cannot be read any more, those of before."""
    found = cache.get("KafkaCluster", namespace, name)
    if found is None:
        message = f"there is no KafkaCluster {name!r} in namespace {namespace!r}"
        return "KafkaClusterNotFound", message
    try:
        spec = KafkaClusterSpec.model_validate(found["spec"])
    except ValidationError as error:
        status = KafkaClusterStatus.model_validate(found.get("status") or {})
        message = f"the spec of KafkaCluster {name!r} is wrong: {faults(error)}"
        return status.bootstrap_servers or ("InvalidSpec", message[:1000])
    return bootstrap_servers(name, namespace, spec.replicas)


def _not_ready(spec: StreamPipelineSpec, cache: ObjectCache, namespace: str) -> Words | None:
    """A driver created before its Kafka would only fail; one that already runs just retries."""
    for named in (spec.source.kafka, spec.sink.reference):
        name = named.cluster if named else None
        found = cache.get("KafkaCluster", namespace, name) if name else None
        status = KafkaClusterStatus.model_validate((found or {}).get("status") or {})
        ready = get_condition(status.conditions, "Ready")
        if found and (ready is None or ready.status != "True"):
            why = f": {ready.message}" if ready else ""
            return "KafkaClusterNotReady", f"KafkaCluster {name!r} is not ready yet{why}"
    return None

"""What a pipeline's spec refers to, and others create."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from trimtab.api import packages
from trimtab.api.common import faults, get_condition
from trimtab.api.connection import KafkaConnection
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec, KafkaClusterStatus
from trimtab.api.v1alpha1.kafka_reference import KafkaReference, share_server
from trimtab.api.v1alpha1.kafka_security import client
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.query import LOOP
from trimtab.api.v1alpha1.transform import RequirementsFile
from trimtab.ports import Manifest
from trimtab.reconcile.observe import strimzi
from trimtab.reconcile.observe.brokers import Words
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.reconcile.tick import TickContext
from trimtab.workloads.kafka.names import bootstrap_servers

REQUIREMENTS_INVALID = "RequirementsInvalid"
"""A file of packages is missing, or has what is not installed."""


@dataclass(frozen=True, slots=True)
class References:
    """Objects that the spec refers to and others create."""

    spec: StreamPipelineSpec
    """With the address and the login of each Kafka, unless something is missing."""
    modules: Manifest | None = None
    """The ConfigMap of a Python transform; None if the spec names none."""
    requirements: str = ""
    """The file of packages of a Python transform; empty if the spec names none."""
    topic: Manifest | None = None
    """The KafkaTopic of the source, if the pipeline may ask it for partitions."""
    missing: Words | None = None
    """What is missing, so that nothing can be created."""
    not_ready: Words | None = None
    """What must be ready before the driver is first created."""


def references(namespace: str, spec: StreamPipelineSpec, tick: TickContext) -> References:
    """Find what the spec of a pipeline refers to."""
    reached = _reached(namespace, spec, tick)
    if isinstance(reached, tuple):
        return References(spec, missing=reached)
    python, modules, requirements = spec.transform.python, None, ""
    if python and python.config_map:
        modules = _config_map(namespace, python.config_map, tick)
        if modules is None:
            return References(
                spec, missing=("ModuleNotFound", _no_config_map(namespace, python.config_map))
            )
    if python and python.requirements:
        found = _requirements(namespace, python.requirements.config_map, tick)
        if isinstance(found, tuple):
            return References(spec, missing=found)
        requirements = found
    return References(
        reached, modules, requirements, _topic(namespace, spec, tick),
        not_ready=_not_ready(spec, tick.cache, namespace),
    )  # fmt: skip


def _config_map(namespace: str, name: str, tick: TickContext) -> Manifest | None:
    return tick.cache.fetched(("ConfigMap", namespace, name), tick.now_s, tick.cluster.get)


def _no_config_map(namespace: str, name: str) -> str:
    return f"there is no ConfigMap {name!r} in namespace {namespace!r}"


def _requirements(namespace: str, file: RequirementsFile, tick: TickContext) -> str | Words:
    """The file of packages, or what is wrong with it."""
    found = _config_map(namespace, file.name, tick)
    if found is None:
        return REQUIREMENTS_INVALID, _no_config_map(namespace, file.name)
    text = (found.get("data") or {}).get(file.key)
    where = f"key {file.key!r} of ConfigMap {file.name!r}"
    if text is None:
        return REQUIREMENTS_INVALID, f"there is no {where}: write the requirements there, as text"
    wrong = packages.faults(text)
    return (REQUIREMENTS_INVALID, f"{where}: {'; '.join(wrong)}") if wrong else str(text)


def _topic(namespace: str, spec: StreamPipelineSpec, tick: TickContext) -> Manifest | None:
    source = spec.origin.kafka
    if source is None or source.strimzi is None or spec.limits.topic_partitions is None:
        return None
    return strimzi.topic(namespace, source.strimzi, source.topics[0], tick)


def _reached(
    namespace: str, spec: StreamPipelineSpec, tick: TickContext
) -> StreamPipelineSpec | Words:
    """The spec with the address and the login of each Kafka, or what is missing."""
    sources, topics = [], []
    for source in spec.origin.kafkas:
        found = _connection(namespace, source, tick)
        if isinstance(found, tuple):
            return found
        sources.append(source.reached(found))
    for sink in spec.results.kafkas:
        found = _connection(namespace, sink, tick)
        if isinstance(found, tuple):
            return found
        reached = sink.reached(found)
        for each in sources:
            if each.reads(sink.topic) and share_server(each.servers, reached.servers):
                return "InvalidSpec", LOOP
        topics.append(reached)
    return spec.reaching(sources, topics)


def _connection(
    namespace: str, named: KafkaReference, tick: TickContext
) -> KafkaConnection | Words:
    if named.strimzi is not None:
        return strimzi.connection(namespace, named.strimzi, tick)
    if named.cluster is not None:
        return _of_cluster(tick.cache, namespace, named.cluster)
    return KafkaConnection(named.servers, named)


def _of_cluster(cache: ObjectCache, namespace: str, name: str) -> KafkaConnection | Words:
    """A KafkaCluster of ours; if its spec cannot be read any more, where it was before."""
    found = cache.get("KafkaCluster", namespace, name)
    if found is None:
        message = f"there is no KafkaCluster {name!r} in namespace {namespace!r}"
        return "KafkaClusterNotFound", message
    try:
        spec = KafkaClusterSpec.model_validate(found["spec"])
    except ValidationError as error:
        status = KafkaClusterStatus.model_validate(found.get("status") or {})
        if status.bootstrap_servers and not found["spec"].get("security"):
            return KafkaConnection(status.bootstrap_servers)
        message = f"the spec of KafkaCluster {name!r} is wrong: {faults(error)}"
        return "InvalidSpec", message[:1000]
    servers = bootstrap_servers(name, namespace, spec.replicas)
    return KafkaConnection(servers, client(name, spec.security))


def _not_ready(spec: StreamPipelineSpec, cache: ObjectCache, namespace: str) -> Words | None:
    """A driver created before its Kafka would only fail; one that already runs just retries."""
    for named in (*spec.origin.kafkas, *spec.results.kafkas):
        name = named.cluster
        found = cache.get("KafkaCluster", namespace, name) if name else None
        status = KafkaClusterStatus.model_validate((found or {}).get("status") or {})
        ready = get_condition(status.conditions, "Ready")
        if found and (ready is None or ready.status != "True"):
            why = f": {ready.message}" if ready else ""
            return "KafkaClusterNotReady", f"KafkaCluster {name!r} is not ready yet{why}"
    return None

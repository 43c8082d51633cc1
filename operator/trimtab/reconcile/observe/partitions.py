"""Partitions of a pipeline's source: what it asks of its Kafka, and what forbids more.

The pipeline's status holds the request; the KafkaCluster's reconciliation carries it out. Neither
writes to the other's object, and a spec under Git stays as it is in Git. Strimzi knows of no such
request, so the KafkaTopic itself is raised: Kafka cannot go back, whatever is in Git.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from trimtab.api.topics import matching, pattern
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.api.v1alpha1.kafka_source import KafkaSource
from trimtab.ports import Manifest, Name
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.reconcile.observe.gather import DriverMetrics
from trimtab.reconcile.observe.references import References
from trimtab.tuning.controller_state import ControllerState


def asked(cache: ObjectCache, namespace: str, cluster: str) -> dict[str, int]:
    """Partitions that pipelines request for a cluster's topics, within their limits."""
    found: dict[str, int] = {}
    for parent in _readers(cache, namespace, (cluster, None)):
        most = _limit(parent)
        if most is None:
            continue
        memory = ControllerState.read((parent.get("status") or {}).get("controller"))
        wish = memory.settings.topic_partitions if memory else None
        if wish is not None:
            topic = parent["spec"]["source"]["kafka"]["topics"][0]
            found[topic] = max(min(wish, most), found.get(topic, 0))
    return found


def raised(topic: Manifest | None, wish: int | None) -> Manifest | None:
    """The fields of a KafkaTopic that has fewer partitions than the pipeline requests; or None."""
    if topic is None or wish is None or topic["spec"].get("partitions", wish) >= wish:
        return None
    meta = {name: topic["metadata"][name] for name in ("name", "namespace", "uid")}
    kind = {"apiVersion": topic["apiVersion"], "kind": topic["kind"]}
    return kind | {"metadata": meta, "spec": {"partitions": wish}}


def fixed(
    parent: Manifest,
    references: References,
    cache: ObjectCache,
    metrics: Mapping[Name, DriverMetrics],
) -> str:
    """Why a pipeline's topic must keep its number of partitions; empty if it may grow."""
    spec, namespace = references.spec, parent["metadata"]["namespace"]
    source = spec.origin.kafka
    if source is None or spec.limits.topic_partitions is None:
        return ""
    topic = source.topics[0]
    if unlisted := _unlisted(source, references, cache, namespace):
        return unlisted
    for other in _readers(cache, namespace, _kafka(parent)):
        name = other["metadata"]["name"]
        if name == parent["metadata"]["name"] or not _reads(other, topic):
            continue
        if _limit(other) is None:
            return f"StreamPipeline {name!r} reads {topic!r} too, without limits.topicPartitions"
        figures = metrics.get((namespace, name))
        if figures and figures.number("state_rows") is not None:
            return f"StreamPipeline {name!r} reads {topic!r} too, and keeps state by its keys"
    return ""


def _unlisted(
    source: KafkaSource, references: References, cache: ObjectCache, namespace: str
) -> str:
    """Why nobody would raise the topic."""
    topic = source.topics[0]
    if source.strimzi is not None:
        missing = f"there is no KafkaTopic {topic!r} of the Kafka {source.strimzi.name!r}: create"
        return "" if references.topic else f"{missing} one, by the topic's name"
    if source.cluster is None or topic in _listed(cache, namespace, source.cluster):
        return ""
    return (
        f"the KafkaCluster {source.cluster!r} does not list the topic {topic!r}: add it to its"
        " spec.topics"
    )


def _listed(cache: ObjectCache, namespace: str, cluster: str) -> list[str]:
    found = cache.get("KafkaCluster", namespace, cluster)
    try:
        spec = KafkaClusterSpec.model_validate(found["spec"] if found else {})
    except ValidationError:
        return []
    return [topic.name for topic in spec.topics]


Kafka = tuple[str | None, str | None]
"""The KafkaCluster that a pipeline reads from, and the Kafka of Strimzi; one of them is None."""


def _kafka(parent: Manifest) -> Kafka:
    kafka = (parent["spec"].get("source") or {}).get("kafka") or {}
    return kafka.get("cluster"), (kafka.get("strimzi") or {}).get("name")


def _readers(cache: ObjectCache, namespace: str, kafka: Kafka) -> Iterator[Manifest]:
    """The pipelines that read from a Kafka here."""
    for parent in cache.all("StreamPipeline", namespace):
        if _kafka(parent) == kafka:
            yield parent


def _reads(parent: Manifest, topic: str) -> bool:
    source = parent["spec"]["source"]["kafka"]
    named, regex = source.get("topics") or [], source.get("topicPattern")
    try:
        return bool(matching([*named, *([pattern(regex)] if regex else [])], [topic]))
    except re.error:  # its own status says so
        return False


def _limit(parent: Manifest) -> int | None:
    limit: int | None = (parent["spec"].get("limits") or {}).get("topicPartitions")
    return limit

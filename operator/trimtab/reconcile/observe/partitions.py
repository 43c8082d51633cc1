"""Partitions of a pipeline's source: what it asks of its KafkaCluster, and what forbids more.

The pipeline's status holds the request; the KafkaCluster's reconciliation carries it out. Neither
writes to the other's object, and a spec under Git stays as it is in Git.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.ports import Manifest, Name
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.reconcile.observe.gather import DriverMetrics
from trimtab.tuning.controller_state import ControllerState


def asked(cache: ObjectCache, namespace: str, cluster: str) -> dict[str, int]:
    """Partitions that pipelines request for a cluster's topics, within their limits."""
    found: dict[str, int] = {}
    for parent in _readers(cache, namespace, cluster):
        most = _limit(parent)
        if most is None:
            continue
        memory = ControllerState.read((parent.get("status") or {}).get("controller"))
        wish = memory.settings.topic_partitions if memory else None
        if wish is not None:
            topic = parent["spec"]["source"]["kafka"]["topics"][0]
            found[topic] = max(min(wish, most), found.get(topic, 0))
    return found


def fixed(
    parent: Manifest,
    spec: StreamPipelineSpec,
    cache: ObjectCache,
    metrics: Mapping[Name, DriverMetrics],
) -> str:
    """Why a pipeline's topic must keep its number of partitions; empty if it may grow."""
    source, namespace = spec.source.kafka, parent["metadata"]["namespace"]
    if spec.limits.topic_partitions is None or source.cluster is None:
        return ""
    topic = source.topics[0]
    if topic not in _listed(cache, namespace, source.cluster):
        return (
            f"the KafkaCluster {source.cluster!r} does not list the topic {topic!r}: add it to its"
            " spec.topics"
        )
    for other in _readers(cache, namespace, source.cluster):
        name, topics = other["metadata"]["name"], other["spec"]["source"]["kafka"]["topics"]
        if name == parent["metadata"]["name"] or topic not in topics:
            continue
        if _limit(other) is None:
            return f"StreamPipeline {name!r} reads {topic!r} too, without limits.topicPartitions"
        figures = metrics.get((namespace, name))
        if figures and figures.number("state_rows") is not None:
            return f"StreamPipeline {name!r} reads {topic!r} too, and keeps state by its keys"
    return ""


def _listed(cache: ObjectCache, namespace: str, cluster: str) -> list[str]:
    found = cache.get("KafkaCluster", namespace, cluster)
    try:
        spec = KafkaClusterSpec.model_validate(found["spec"] if found else {})
    except ValidationError:
        return []
    return [topic.name for topic in spec.topics]


def _readers(cache: ObjectCache, namespace: str, cluster: str) -> Iterator[Manifest]:
    """The pipelines that read from a cluster."""
    for parent in cache.all("StreamPipeline", namespace):
        kafka = (parent["spec"].get("source") or {}).get("kafka") or {}
        if kafka.get("cluster") == cluster and kafka.get("topics"):
            yield parent


def _limit(parent: Manifest) -> int | None:
    limit: int | None = (parent["spec"].get("limits") or {}).get("topicPartitions")
    return limit

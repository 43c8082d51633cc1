"""Partitions of a pipeline's source: what it asks of its KafkaCluster, and what it advises. Pure.

The pipeline's status says what is asked for; the KafkaCluster makes it so. Nobody writes into the
other's object, and a spec under Git stays what Git says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from trimtab.api.kafka import KafkaClusterSpec
from trimtab.api.pipeline import StreamPipelineSpec
from trimtab.api.status import PartitionsAdvice
from trimtab.ports import Manifest
from trimtab.reconcile.gather import Name, Seen
from trimtab.reconcile.world import World
from trimtab.tuning.decision import Decision


def asked(world: World, namespace: str, cluster: str) -> dict[str, int]:
    """Partitions that pipelines ask of a cluster's topics, within their limits."""
    found: dict[str, int] = {}
    for parent in _readers(world, namespace, cluster):
        memory = ((parent.get("status") or {}).get("controller") or {}).get("settings") or {}
        wish, most = memory.get("topic_partitions"), _limit(parent)
        if most is not None and isinstance(wish, int):
            topic = parent["spec"]["source"]["kafka"]["topics"][0]
            found[topic] = max(min(wish, most), found.get(topic, 0))
    return found


def fixed(
    parent: Manifest, spec: StreamPipelineSpec, world: World, seen: Mapping[Name, Seen]
) -> str:
    """Why the topic of a pipeline must keep its partitions, in words; empty where it need not."""
    source, namespace = spec.source.kafka, parent["metadata"]["namespace"]
    if spec.limits.topic_partitions is None or source.cluster is None:
        return ""
    topic = source.topics[0]
    if topic not in _listed(world, namespace, source.cluster):
        return (
            f"the KafkaCluster {source.cluster!r} does not list the topic {topic!r}: add it to its"
            " spec.topics"
        )
    for other in _readers(world, namespace, source.cluster):
        name, topics = other["metadata"]["name"], other["spec"]["source"]["kafka"]["topics"]
        if name == parent["metadata"]["name"] or topic not in topics:
            continue
        if _limit(other) is None:
            return f"StreamPipeline {name!r} reads {topic!r} too, without limits.topicPartitions"
        figures = seen.get((namespace, name))
        if figures and figures.number("state_rows") is not None:
            return f"StreamPipeline {name!r} reads {topic!r} too, and keeps state by its keys"
    return ""


def advice(
    spec: StreamPipelineSpec, old: PartitionsAdvice | None, decision: Decision | None,
    now: int | None,
) -> PartitionsAdvice | None:  # fmt: skip
    """The advice that stands: until there are `now` as many partitions, or more are needed."""
    standing = old if old and (now is None or now < old.partitions) else None
    more = decision.partitions if decision else None
    if decision is None or more is None or (standing and standing.partitions >= more):
        return standing
    reason = f"{decision.bottleneck.kind}: {decision.bottleneck.evidence}; {_how(spec, more)}"
    return PartitionsAdvice(partitions=more, reason=reason[:1024])


def _how(spec: StreamPipelineSpec, partitions: int) -> str:
    """Who raises them, in words."""
    source, most = spec.source.kafka, spec.limits.topic_partitions
    moved = "the records of a key go to another partition then"
    if source.cluster is None:
        return f"raise them in Kafka; {moved}"
    if most is None or most < partitions:
        return f"raise them in the KafkaCluster, or allow it by limits.topicPartitions; {moved}"
    return f"limits.topicPartitions allows it, once nothing that can be put back helps; {moved}"


def _listed(world: World, namespace: str, cluster: str) -> list[str]:
    found = world.get("KafkaCluster", namespace, cluster)
    try:
        spec = KafkaClusterSpec.model_validate(found["spec"] if found else {})
    except ValidationError:
        return []
    return [topic.name for topic in spec.topics]


def _readers(world: World, namespace: str, cluster: str) -> Iterator[Manifest]:
    """The pipelines that read from a cluster."""
    for parent in world.all("StreamPipeline", namespace):
        kafka = (parent["spec"].get("source") or {}).get("kafka") or {}
        if kafka.get("cluster") == cluster and kafka.get("topics"):
            yield parent


def _limit(parent: Manifest) -> int | None:
    limit: int | None = (parent["spec"].get("limits") or {}).get("topicPartitions")
    return limit

"""Advice on the partitions of a pipeline's source: how many would relieve its bottleneck."""

from __future__ import annotations

from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.status import PartitionsAdvice
from trimtab.tuning.decision import Decision


def advice(
    spec: StreamPipelineSpec, old: PartitionsAdvice | None, decision: Decision | None,
    now: int | None,
) -> PartitionsAdvice | None:  # fmt: skip
    """The advice; it stands until the source has as many (`now` is the count), or needs more."""
    standing = old if old and (now is None or now < old.partitions) else None
    more = decision.partitions if decision else None
    if decision is None or more is None or (standing and standing.partitions >= more):
        return standing
    reason = f"{decision.bottleneck.kind}: {decision.bottleneck.evidence}; {_how(spec, more)}"
    return PartitionsAdvice(partitions=more, reason=reason[:1024])


def _how(spec: StreamPipelineSpec, partitions: int) -> str:
    """A message saying how to raise them."""
    source, most = spec.origin.kafka, spec.limits.topic_partitions
    if spec.sources:
        return "raise those of a source in its Kafka; the records of a key then go to another"
    if source is None:
        rate = spec.source and spec.source.rate
        return "raise source.rate.partitions" if rate else "write more files"
    kind = "KafkaCluster" if source.cluster else "KafkaTopic"
    moved = "the records of a key then go to another partition"
    if source.cluster is None and source.strimzi is None:
        return f"raise them in Kafka; {moved}"
    if most is None or most < partitions:
        return f"raise them in the {kind}, or allow it by limits.topicPartitions; {moved}"
    return f"limits.topicPartitions allows it, once nothing that can be reverted helps; {moved}"

"""KafkaCluster: a small KRaft cluster with its topics, for pipelines without their own Kafka."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from trimtab.api.common import ApiModel, Condition, Name, StatusModel, Topic, cel
from trimtab.api.memory import BROKER_MIN_BYTES
from trimtab.api.quantities import Cpu, Quantity, at_least
from trimtab.api.v1alpha1.pod_template import PodTemplate

FOREVER = -1
"""A retention without an end, as Kafka writes it."""

RETENTION_MS = (1000, 10**12)
"""The bounds of any other retention, in milliseconds: from a second to 31 years."""

_RETENTION_WORDS = (
    f"write {FOREVER} to keep records forever, or from {RETENTION_MS[0]} to {RETENTION_MS[1]}"
    " milliseconds"
)


class Storage(ApiModel):
    """The volume of each broker."""

    size: Quantity = Field(1 << 30, description="Size of each broker's volume.")
    storage_class_name: Name | None = Field(
        None, alias="storageClassName", description="Absent: the cluster's default class."
    )


class TopicSpec(ApiModel):
    """A topic; its partitions can only increase."""

    name: Topic = Field(description="Name of the topic.")
    partitions: int = Field(
        1,
        ge=1,
        le=1000,
        description="Minimum: a pipeline with limits.topicPartitions may request more, see"
        " status.raised.",
    )
    retention_ms: int | None = Field(
        None,
        alias="retentionMs",
        ge=FOREVER,
        le=RETENTION_MS[1],
        description="Milliseconds for which records are kept; -1: forever. Absent: the brokers'"
        " default.",
        json_schema_extra=cel(
            (f"self == {FOREVER} || self >= {RETENTION_MS[0]}", _RETENTION_WORDS)
        ),
    )

    @field_validator("retention_ms")
    @classmethod
    def _retention(cls, milliseconds: int | None) -> int | None:
        if milliseconds is not None and FOREVER < milliseconds < RETENTION_MS[0]:
            raise ValueError(_RETENTION_WORDS)
        return milliseconds


class BrokerResources(ApiModel):
    """What each broker pod gets; the heap is half of the memory."""

    cpu_request: Cpu = Field(
        "200m", alias="cpuRequest", description="CPU reserved for each broker."
    )
    memory: Annotated[
        Quantity,
        at_least(
            BROKER_MIN_BYTES,
            "half of it is the heap, and what a broker needs beside it does not fit into less",
        ),
    ] = Field(1 << 30, description="Memory limit of each broker's pod.")


class KafkaClusterSpec(ApiModel):
    """Brokers in combined KRaft mode, storage and topics."""

    replicas: int = Field(
        1,
        ge=1,
        le=5,
        description="Brokers; odd, and fixed after creation.",
        json_schema_extra=cel(
            ("self % 2 == 1", "replicas must be odd: 1, 3 or 5"),
            ("self == oldSelf", "replicas cannot change: create a new cluster and mirror to it"),
        ),
    )
    image: str | None = Field(None, max_length=512, description="Default: trimtab's Kafka image.")
    storage: Storage = Field(default_factory=Storage)
    pod_template: PodTemplate | None = Field(
        None, alias="podTemplate", description="More of the pods of the brokers and of the topics."
    )
    resources: BrokerResources = Field(default_factory=BrokerResources)
    topics: Annotated[list[TopicSpec], Field(max_length=100)] = Field(
        default_factory=list,
        description="Topics to create. A topic removed here is not deleted.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    deletion_policy: Literal["Retain", "Delete"] = Field(
        "Retain",
        alias="deletionPolicy",
        description="Retain keeps the volumes when the cluster is deleted.",
    )


class RaisedTopic(StatusModel):
    """A topic with more partitions than in the spec, because a pipeline requested them."""

    name: str = Field(max_length=249)
    partitions: int


class KafkaClusterStatus(StatusModel):
    """What is known about the cluster."""

    observed_generation: int = Field(-1, alias="observedGeneration")
    conditions: Annotated[tuple[Condition, ...], Field(max_length=16)] = ()
    bootstrap_servers: str | None = Field(None, alias="bootstrapServers", max_length=1024)
    ready_replicas: int = Field(0, alias="readyReplicas")
    raised: Annotated[tuple[RaisedTopic, ...], Field(max_length=100)] = Field(
        (), description="Topics with more partitions than in the spec, as requested by pipelines."
    )

"""KafkaCluster: a small KRaft cluster with its topics, for pipelines without their own Kafka."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, field_validator

from trimtab.api.common import ApiModel, Condition, Name, StatusModel, Topic, cel
from trimtab.api.memory import BROKER_MIN_BYTES
from trimtab.api.quantities import Cpu, Quantity, at_least
from trimtab.api.v1alpha1.kafka_security import KafkaSecurity
from trimtab.api.v1alpha1.pod_template import PodTemplate

ROLL_ANNOTATION = "trimtab.dev/roll"
"""On a KafkaCluster: the revision to which its brokers may be replaced; see `updateRevision`."""

FOREVER = -1
"""A retention without an end, as Kafka writes it."""

RETENTION_MS = (1000, 10**12)
"""The bounds of any other retention, in milliseconds: from a second to 31 years."""

RETENTION_BYTES = (1 << 20, 10**15)
"""The bounds of any other retention, in bytes: Kafka's segments have at least 1 MiB."""

_RETENTION_WORDS = (
    f"write {FOREVER} to keep records forever, or from {RETENTION_MS[0]} to {RETENTION_MS[1]}"
    " milliseconds"
)
_BYTES_WORDS = (
    f"write {FOREVER} for no limit, or from {RETENTION_BYTES[0]} to {RETENTION_BYTES[1]} bytes"
)
_CLASS = "(has({0}.storageClassName) ? {0}.storageClassName : '')"


class Storage(ApiModel):
    """The volume of each broker."""

    model_config = ConfigDict(
        json_schema_extra=cel(
            (
                f"{_CLASS.format('self')} == {_CLASS.format('oldSelf')}",
                "storageClassName cannot change, as a volume cannot move: restore it, or create a"
                " new cluster and mirror to it",
            )
        )
    )

    size: Quantity = Field(
        1 << 30, description="Size of each broker's volume; grows if the storage class allows it."
    )
    storage_class_name: Name | None = Field(
        None, alias="storageClassName", description="Absent: the cluster's default class."
    )


def _kept(field: str, default: str) -> tuple[str, str]:
    """The rule that a retention is changed, never just left out."""
    return (
        f"has(self.{field}) || !has(oldSelf.{field})",
        f"without {field} the topic would keep what it has: write what it shall have instead;"
        f" Kafka's default is {default}",
    )


class TopicSpec(ApiModel):
    """A topic; its partitions can only increase."""

    model_config = ConfigDict(
        json_schema_extra=cel(
            _kept("retentionMs", "604800000"), _kept("retentionBytes", str(FOREVER))
        )
    )

    name: Topic = Field(description="Name of the topic.")
    partitions: int = Field(
        1,
        ge=1,
        le=1000,
        description="Minimum: a pipeline with limits.topicPartitions may request more, see"
        " status.raised.",
        json_schema_extra=cel(
            (
                "self >= oldSelf",
                "Kafka cannot remove partitions: write as many as before, or more",
            )
        ),
    )
    retention_ms: int | None = Field(
        None,
        alias="retentionMs",
        ge=FOREVER,
        le=RETENTION_MS[1],
        description="Milliseconds for which records are kept; -1: forever. Absent: the brokers'"
        " default, or what the topic has already.",
        json_schema_extra=cel(
            (f"self == {FOREVER} || self >= {RETENTION_MS[0]}", _RETENTION_WORDS)
        ),
    )
    retention_bytes: int | None = Field(
        None,
        alias="retentionBytes",
        ge=FOREVER,
        le=RETENTION_BYTES[1],
        description="Bytes of each partition that are kept; -1: no limit. Absent: the brokers'"
        " default, or what the topic has already.",
        json_schema_extra=cel((f"self == {FOREVER} || self >= {RETENTION_BYTES[0]}", _BYTES_WORDS)),
    )

    @field_validator("retention_ms")
    @classmethod
    def _retention(cls, milliseconds: int | None) -> int | None:
        if milliseconds is not None and FOREVER < milliseconds < RETENTION_MS[0]:
            raise ValueError(_RETENTION_WORDS)
        return milliseconds

    @field_validator("retention_bytes")
    @classmethod
    def _size(cls, size: int | None) -> int | None:
        if size is not None and FOREVER < size < RETENTION_BYTES[0]:
            raise ValueError(_BYTES_WORDS)
        return size


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


_SECURITY = "(has({0}.security) ? [true, {0}.security.scram] : [false])"


class KafkaClusterSpec(ApiModel):
    """Brokers in combined KRaft mode, storage and topics."""

    model_config = ConfigDict(
        json_schema_extra=cel(
            (
                f"{_SECURITY.format('self')} == {_SECURITY.format('oldSelf')}",
                "whether there are TLS and logins cannot change, as brokers are replaced one at a"
                " time: create a new cluster and mirror to it",
            )
        )
    )

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
    security: KafkaSecurity | None = Field(
        None,
        description="TLS and logins, with Secrets that the operator keeps, if the chart lets it"
        " (kafkaSecurity.enabled). Absent: whoever reaches the brokers may do everything.",
    )
    spread: Literal["Required", "Preferred"] = Field(
        "Required",
        description="Required: no node gets a second broker while another has none, and a broker"
        " that fits nowhere else waits. Preferred: it then goes to any node.",
    )
    topics: Annotated[list[TopicSpec], Field(max_length=100)] = Field(
        default_factory=list,
        description="Topics to create and to change. A topic removed here is not deleted.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    deletion_policy: Literal["Retain", "Delete"] = Field(
        "Retain",
        alias="deletionPolicy",
        description="Retain keeps the volumes when the cluster is deleted.",
    )


class RaisedTopic(StatusModel):
    """A topic with more partitions than in the spec, because a pipeline requested them."""

    name: str = Field(max_length=249, description="The topic.")
    partitions: int = Field(description="Its partitions now.")


class KafkaClusterStatus(StatusModel):
    """What is known about the cluster."""

    observed_generation: int = Field(
        -1, alias="observedGeneration", description="The metadata.generation that this is about."
    )
    conditions: Annotated[tuple[Condition, ...], Field(max_length=16)] = Field(
        (), description="What is the case, and why; one of each type."
    )
    bootstrap_servers: str | None = Field(
        None,
        alias="bootstrapServers",
        max_length=1024,
        description="Where its brokers are: host:port, comma separated.",
    )
    ready_replicas: int = Field(0, alias="readyReplicas", description="Brokers that are in sync.")
    update_revision: str | None = Field(
        None,
        alias="updateRevision",
        max_length=253,
        description="Revision that some brokers do not run yet; the annotation trimtab.dev/roll"
        " with this value lets trimtab replace them.",
    )
    raised: Annotated[tuple[RaisedTopic, ...], Field(max_length=100)] = Field(
        (), description="Topics with more partitions than in the spec, as requested by pipelines."
    )

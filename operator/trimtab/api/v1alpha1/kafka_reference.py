"""The Kafka of a source or a sink: one of trimtab's, one of Strimzi's, or any by its address."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from trimtab.api.common import ApiModel, Name, cel, require_one
from trimtab.api.connection import KafkaConnection
from trimtab.api.v1alpha1.kafka_client import NEEDS_TLS_RULE, Security

Bootstrap = Annotated[str, Field(max_length=1024, pattern=r"^[A-Za-z0-9._:,\[\]-]+:[0-9]+$")]

_WAYS = ("cluster", "strimzi", "bootstrapServers")
_ONE_KAFKA = (
    f"[{', '.join(f'has(self.{way})' for way in _WAYS)}].exists_one(way, way)",
    "write exactly one of cluster: <name of a KafkaCluster here>, strimzi: {name, listener, user}"
    " and bootstrapServers: host:port",
)
_NO_SECURITY_HERE = (
    "the KafkaCluster says whether there are TLS and logins: remove tls and authentication, or"
    " write bootstrapServers: host:port"
)
_STRIMZI_SAYS = (
    "the Kafka's listener and the KafkaUser say how it is reached: remove tls and authentication"
    " beside strimzi"
)


RULES = (
    _ONE_KAFKA,
    NEEDS_TLS_RULE,
    ("!has(self.cluster) || !(has(self.tls) || has(self.authentication))", _NO_SECURITY_HERE),
    ("!has(self.strimzi) || !(has(self.tls) || has(self.authentication))", _STRIMZI_SAYS),
)
"""For whatever names a Kafka."""


class StrimziReference(ApiModel):
    """A Kafka that Strimzi runs in this namespace, by one of its listeners."""

    name: Name = Field(description="The Kafka.")
    listener: Annotated[str, Field(max_length=11, pattern="^[a-z0-9]+$")] = Field(
        description="The name of its listener."
    )
    user: Name | None = Field(
        None, description="The KafkaUser to log in as; absent: the listener asks for no login."
    )


class KafkaReference(Security):
    """A Kafka, and how it is reached."""

    model_config = {"json_schema_extra": cel(*RULES)}
    cluster: Name | None = Field(None, description="A KafkaCluster in this namespace.")
    strimzi: StrimziReference | None = None
    bootstrap_servers: Bootstrap | None = Field(
        None, alias="bootstrapServers", description="host:port of any Kafka, comma separated."
    )

    @property
    def servers(self) -> str:
        """host:port of its brokers; a Kafka by its name has some once it is `reached`."""
        if self.bootstrap_servers is None:
            raise ValueError(f"nobody has found out yet where {self.where!r} is")
        return self.bootstrap_servers

    @property
    def where(self) -> str:
        """The Kafka, in words."""
        return self.cluster or (self.strimzi and self.strimzi.name) or self.bootstrap_servers or ""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        require_one((self.cluster, self.strimzi, self.bootstrap_servers), _ONE_KAFKA[1])
        if self.tls or self.authentication:
            if self.cluster is not None:
                raise ValueError(_NO_SECURITY_HERE)
            if self.strimzi is not None:
                raise ValueError(_STRIMZI_SAYS)
        return self

    def reached(self, connection: KafkaConnection) -> Self:
        """The same Kafka, with what a reference stands for: addresses, TLS and login."""
        found = {
            "bootstrap_servers": connection.servers,
            "tls": connection.security.tls,
            "authentication": connection.security.authentication,
        }
        return self.model_copy(update=found)


def in_one_kafka(source: KafkaReference, sink: KafkaReference) -> bool:
    """Whether both name the same Kafka, or share one of its addresses."""
    if source.bootstrap_servers and sink.bootstrap_servers:
        return share_server(source.bootstrap_servers, sink.bootstrap_servers)
    if source.strimzi and sink.strimzi:
        return source.strimzi.name == sink.strimzi.name
    return source.cluster is not None and source.cluster == sink.cluster


def share_server(one: str, other: str) -> bool:
    """Whether two lists of bootstrap servers have an address in common."""
    return not set(one.split(",")).isdisjoint(other.split(","))

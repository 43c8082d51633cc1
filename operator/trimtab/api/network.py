"""What the chart says of NetworkPolicies: parts of these, which the operator passes on."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class _Values(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, alias_generator=to_camel
    )


class Egress(_Values):
    """Where the pods of pipelines may go beside DNS, the API server, brokers and each other."""

    api_server: tuple[str, ...] = Field((), description="its addresses as CIDR; empty: any")
    allow: tuple[dict[str, Any], ...] = Field((), description="egress rules of a NetworkPolicy")


class NetworkSettings(_Values):
    """Who may reach the pods beside their own kind: peers of a NetworkPolicy.

    Empty: everybody, but nobody for Spark's web UI.
    """

    metrics_from: tuple[dict[str, Any], ...] = Field((), description="for a driver's metrics")
    kafka_from: tuple[dict[str, Any], ...] = Field((), description="for brokers")
    spark_ui_from: tuple[dict[str, Any], ...] = Field(
        (), alias="sparkUIFrom", description="for a driver's web UI; empty: nobody"
    )
    egress: Egress | None = Field(None, description="absent: pipelines may go anywhere")

"""The goal of a pipeline: a latency or a throughput."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from trimtab.api.common import ApiModel, cel
from trimtab.api.quantities import DAY_S, Duration, between

CatchUp = Annotated[Duration, between(1.0, 7 * DAY_S)]
"""How long draining a backlog may take."""


class LatencyGoal(ApiModel):
    """From a record's timestamp in Kafka to the commit of its batch."""

    percentile: Literal[50, 95, 99] = Field(95, description="Percentile of a batch's records.")
    target: Annotated[Duration, between(0.1, DAY_S)] = Field(
        description="The percentile must stay at or below this."
    )
    catch_up: CatchUp | None = Field(
        None,
        alias="catchUp",
        description="Time to drain a backlog, if not as tuning.profile says.",
    )
    clock: Literal["producer", "broker"] = Field(
        "producer",
        description="Where the time of a record begins: producer, at its timestamp; broker, when it"
        " was in the topic, for mirrored topics and producers whose clocks are wrong.",
    )


class ThroughputGoal(ApiModel):
    """Process the input, up to a rate, and the backlog within catchUp; or as much as possible."""

    model_config = {
        "json_schema_extra": cel(
            (
                "has(self.recordsPerSecond) != (has(self.max) && self.max)",
                "write exactly one of throughput: {recordsPerSecond: 1000} and {max: true}",
            )
        )
    }
    records_per_second: int | None = Field(
        None, alias="recordsPerSecond", ge=1, le=10**8, description="The rate to hold."
    )
    max: bool = Field(
        False, description="As many records/s as the limits allow, whatever the backlog."
    )
    catch_up: CatchUp | None = Field(
        None,
        alias="catchUp",
        description="Time to drain a backlog, if not as tuning.profile says.",
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> ThroughputGoal:
        if (self.records_per_second is None) != self.max:
            raise ValueError(
                "write exactly one of throughput: {recordsPerSecond: 1000} and {max: true}"
            )
        return self


class Goal(ApiModel):
    """What the pipeline must achieve: exactly one of latency and throughput."""

    model_config = {
        "json_schema_extra": cel(
            (
                "has(self.latency) != has(self.throughput)",
                "write exactly one goal: either latency: {target: 15s}"
                " or throughput: {recordsPerSecond: 1000}",
            )
        )
    }
    latency: LatencyGoal | None = None
    throughput: ThroughputGoal | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Goal:
        if (self.latency is None) == (self.throughput is None):
            raise ValueError("write exactly one goal: latency or throughput")
        return self

"""The plant of a scenario: what its batches, changes, cluster and metrics are like.

Plain numbers are seconds. The formulas that use the fields are in `batch_time.py` and `plant.py`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from trimtab.api.common import ApiModel
from trimtab.simulation.shapes import Number

Scope = Literal["Process", "Node", "Zone", "Any"]

REMOTE_SHARE: dict[Scope, float] = {"Process": 0, "Node": 0.25, "Zone": 0.5, "Any": 1}
"""Share of the records read remotely, by the scope of placement."""


class BatchCost(ApiModel):
    """Costs of a batch."""

    fixed_s: Number = 0.3
    planning_s: Number = 0
    per_task_s: Number = 0
    knee_records: Annotated[float, Field(gt=0)] = 1e12
    overload: Number = 0
    noise: Number = 0
    noise_memory: Annotated[float, Field(ge=0, lt=1)] = 0
    """Correlation of a batch's noise with that of the batch before."""
    cold_s: Number = 0
    """Seconds that the first batch of a driver takes longer, while its code compiles."""
    warming: Number = 0
    """Share by which the first batch of a driver is slower, as little of its code is compiled;
    halved every 30 s."""
    doubled: Annotated[float, Field(ge=0, lt=1)] = 0
    """Share of the batches that take twice their time, as beside a collection or a busy node."""


class Fetch(ApiModel):
    """Reading costs."""

    per_record_s: Number = 0
    record_bytes: Number = 0
    size_bytes: Annotated[float, Field(gt=0)] | None = None
    """Bytes of a partition in one fetch; None: as many as a batch has."""
    round_trip_s: Number = 0
    """Seconds per fetch."""


class State(ApiModel):
    """State costs, added to each batch."""

    commit_s: Number = 0
    per_record_s: Number = 0


class Producer(ApiModel):
    """The producer of a Kafka sink, one per executor; none without `record_bytes`."""

    record_bytes: Number = 0
    round_trip_s: Annotated[float, Field(gt=0)] = 0.01
    bytes_per_s: Annotated[float, Field(gt=0)] | None = None
    """The most that the broker accepts from all producers."""
    compressed: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Compressed size over original size, for any compression."""


class Remote(ApiModel):
    """A remote service, called for each record."""

    latency_s: Number = 0
    rate_limit: Annotated[float, Field(gt=0)] | None = None
    knee_calls: Annotated[float, Field(gt=0)] | None = None
    """Calls in flight above which it is crowded: each then takes (calls / knee)² as long."""


class Locality(ApiModel):
    """Cost of remote reads."""

    remote_cost: Number = 0
    remote_share: dict[Scope, Number] = Field(default_factory=REMOTE_SHARE.copy)

    def share(self, scope: str) -> float:
        """Share of the records read remotely at a scope."""
        return {str(name): share for name, share in self.remote_share.items()}.get(scope, 0.0)


class HeapPressure(ApiModel):
    """Heap pressure."""

    bytes_per_record: Number = 0
    heap_bytes: Annotated[float, Field(gt=0)] = 900_000_000
    gc_knee: Number = 0.5
    gc_slope: Number = 4


class Change(ApiModel):
    """What a change costs."""

    live_s: Number = 5
    start_s: Number | None = None
    """Seconds until a requested executor runs; None: `live_s`."""
    stagger_s: Number = 0
    """Seconds between the starts of executors that are requested together."""
    joins_batch: bool = True
    starting_cost: Number = 0
    """Share by which each executor that starts slows the batches meanwhile."""
    query_restart_s: Number = 1.5
    topic_s: Number = 20
    """Seconds until the topic has the requested partitions."""
    driver_restart_s: Number = 40
    """Also for a lost driver, if the fault does not say how long it is away."""
    restart_noise: Number = 0
    """Standard deviation of the time that a restart takes, as a share of it."""


class Cluster(ApiModel):
    """The cluster that runs the executors."""

    executors_max: Annotated[int, Field(ge=0)] | None = None
    refuses: bool = False
    """Whether it refuses more, as a quota does; else their pods find no node."""


SHIPPED_DIRECT_S = 2.0
"""Seconds between two direct reads: `operator.directReads.tickSeconds` of the chart."""


class Metrics(ApiModel):
    """How well the plant can be observed."""

    scrape_s: Annotated[float, Field(gt=0)] = 5
    delay_s: Number = 0
    noise: Number = 0
    direct_s: Annotated[float, Field(gt=0)] | None = None
    """Seconds between two direct reads of the driver, each with a tick; None: only scrapes."""
    gaps: list[tuple[float, float]] = Field(default_factory=list)


class Plant(ApiModel):
    """The pipeline and its cluster."""

    trigger: Literal["spark", "cap"] = "spark"
    capacity: Annotated[
        dict[Annotated[int, Field(ge=1)], Annotated[float, Field(gt=0)]], Field(min_length=1)
    ]
    batch: BatchCost = Field(default_factory=BatchCost)
    fetch: Fetch = Field(default_factory=Fetch)
    waves: bool = False
    state: State = Field(default_factory=State)
    sink: dict[Number, Number] = Field(default_factory=dict)
    producer: Producer = Field(default_factory=Producer)
    remote: Remote = Field(default_factory=Remote)
    skew: Annotated[float, Field(ge=0, le=1)] = 0
    locality: Locality = Field(default_factory=Locality)
    memory: HeapPressure = Field(default_factory=HeapPressure)
    change: Change = Field(default_factory=Change)
    cluster: Cluster = Field(default_factory=Cluster)
    cpu_share: Annotated[float, Field(ge=0, le=1)] = 1
    metrics: Metrics = Field(default_factory=Metrics)

    @field_validator("batch", "fetch", "state", "remote", mode="before")
    @classmethod
    def _absent(cls, value: Any) -> Any:
        return value or {}

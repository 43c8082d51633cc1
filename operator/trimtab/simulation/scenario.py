"""Scenario files: `goal`, `limits`, `tuning`, `start` as in a StreamPipeline, the rest is plant.

Plain numbers are seconds. The formulas that use the fields are in `batch_time.py` and `plant.py`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, ValidationError, field_validator

from trimtab.api.common import ApiModel
from trimtab.api.knobs import SCOPES
from trimtab.api.v1alpha1.goal import Goal
from trimtab.api.v1alpha1.limits import ExecutorResources, Limits
from trimtab.api.v1alpha1.tuning import Tuning
from trimtab.errors import BadInputError
from trimtab.simulation.shapes import Load, Number
from trimtab.tuning.governance.governed import Parts, governed
from trimtab.tuning.governance.rules import Rules
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings

Scope = Literal["Process", "Node", "Zone", "Any"]

REMOTE_SHARE: dict[Scope, float] = {"Process": 0, "Node": 0.25, "Zone": 0.5, "Any": 1}
"""Share of the records read remotely, by the scope of placement."""

WARM_UP_S = 300.0
"""Excluded from figures that add up over time, unless the load is constant."""


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
    starting_cost: Number = 0  # share by which each that starts slows the batches meanwhile
    query_restart_s: Number = 1.5
    topic_s: Number = 20
    """Seconds until the topic has the requested partitions."""
    driver_restart_s: Number = 40
    """Also for a lost driver, if the fault does not say how long it is away."""
    restart_noise: Number = 0  # standard deviation, as a share of the time


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


class Fault(ApiModel):
    """A failure at a given time."""

    at: Number
    kind: Literal[
        "executor_lost", "gc_pause", "driver_lost", "remote_slow", "work_slow", "pods_pending"
    ]
    count: Annotated[int, Field(ge=1)] = 1
    back_after_s: Number | None = None
    """Default: a lost executor is replaced at once, a lost driver after `driver_restart_s`."""
    for_s: Number = 0
    factor: Annotated[float, Field(gt=0)] = 1


class Start(ApiModel):
    """The start of the run: knobs and a backlog."""

    executors: Annotated[int, Field(ge=1)] = 1
    cores: Annotated[int, Field(ge=1)] = 1
    """Slots per executor."""
    trigger: Number = 10
    max_offsets_per_trigger: Annotated[int, Field(ge=1, alias="maxOffsetsPerTrigger")] = 10_000
    max_in_flight: Annotated[int, Field(ge=1, alias="maxInFlight")] = 1
    min_partitions: Annotated[int, Field(ge=0, alias="minPartitions")] = 0
    locality_scope: Annotated[Scope, Field(alias="locality.scope")] = "Process"
    backlog: Number = 0


def _warm_up_s(data: dict[str, Any]) -> float:
    load: Load = data["load"]
    return 0.0 if load.constant else WARM_UP_S


class Scenario(ApiModel):
    """One closed-loop run."""

    name: str
    duration: Annotated[float, Field(gt=0)]
    tick: Annotated[float, Field(gt=0)] = 10
    partitions: Annotated[int, Field(ge=1)]
    load: Load
    warmup_s: Number = Field(default_factory=_warm_up_s)
    """Seconds excluded from figures that add up over time."""
    plant: Plant
    faults: list[Fault] = Field(default_factory=list)
    goal: Goal
    limits: Limits = Field(default_factory=Limits)
    tuning: Tuning = Field(default_factory=Tuning)
    start: Start = Field(default_factory=Start)

    def under(self, rules: Rules) -> Scenario:
        """The scenario as policies above it have it."""
        parts, _ = governed(Parts(self.goal, self.limits, self.tuning), rules)
        said = {"goal": parts.goal, "limits": parts.limits, "tuning": parts.tuning}
        return self.model_copy(update=said) if rules.layers else self

    def policy(self) -> Policy:
        """What the controller is asked to do."""
        executor = ExecutorResources(cores=self.start.cores)
        policy = Policy.stated(self.goal, self.limits, self.tuning, executor)
        return replace(
            policy,
            max_tasks=policy.max_tasks or self.start.min_partitions or None,
            sends=self.plant.producer.record_bytes > 0,
            locality=self.tuning.locality.bounds if self.plant.locality.remote_cost else None,
        )

    def slots(self, settings: Settings, executors: int | None = None) -> int:
        """Task slots of `executors` executors, by default those of the settings."""
        cores = settings.cores or self.start.cores
        return cores * (settings.executors if executors is None else executors)

    def settings(self) -> Settings:
        """The initial settings; a knob that the plant does not use is None."""
        start, plant = self.start, self.plant
        return Settings(
            executors=start.executors,
            trigger_s=start.trigger,
            max_offsets=start.max_offsets_per_trigger,
            min_partitions=start.min_partitions or (1 if self.limits.tasks else None),
            max_in_flight=start.max_in_flight if plant.remote.latency_s else None,
            scope=SCOPES.index(start.locality_scope) if plant.locality.remote_cost else None,
        )


def as_shipped(scenario: Scenario) -> Scenario:
    """The scenario with the driver read as the chart has it, unless it says how."""
    metrics = scenario.plant.metrics
    if "direct_s" in metrics.model_fields_set:
        return scenario
    metrics = metrics.model_copy(update={"direct_s": SHIPPED_DIRECT_S})
    plant = scenario.plant.model_copy(update={"metrics": metrics})
    return scenario.model_copy(update={"plant": plant})


def load_scenario(path: Path) -> Scenario:
    """The scenario in a file; paths in it are relative to its folder.

    Raises:
        BadInputError: the file cannot be read or is not a scenario; names each invalid field.
    """
    try:
        document = yaml.safe_load(path.read_text())
        if isinstance(document, dict) and "kind" in document:
            raise BadInputError(
                f"{path} is a {document['kind']}, not a scenario: docs/simulation.md shows one"
            )
        scenario = Scenario.model_validate(document)
    except OSError as error:
        raise BadInputError(f"cannot read {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise BadInputError(f"{path} is not YAML: {error}") from error
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise BadInputError(f"{path} is not a scenario: {faults}") from error
    return _beside(scenario, path)


def _beside(scenario: Scenario, path: Path) -> Scenario:
    if scenario.load.csv is None:
        return scenario
    load = scenario.load.model_copy(update={"csv": str(path.parent / scenario.load.csv)})
    return scenario.model_copy(update={"load": load})

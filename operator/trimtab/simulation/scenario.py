"""Scenario files: `goal`, `limits`, `tuning`, `start` as in a StreamPipeline, the rest is plant.

Plain numbers are seconds.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, ValidationError

from trimtab.api.common import ApiModel
from trimtab.api.knobs import SCOPES
from trimtab.api.v1alpha1.goal import Goal
from trimtab.api.v1alpha1.limits import ExecutorResources, Limits
from trimtab.api.v1alpha1.tuning import Tuning
from trimtab.errors import BadInputError
from trimtab.simulation.plant_model import SHIPPED_DIRECT_S, Plant, Scope
from trimtab.simulation.shapes import Load, Number
from trimtab.tuning.governance.governed import Parts, governed
from trimtab.tuning.governance.rules import Rules
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings

WARM_UP_S = 300.0
"""Excluded from figures that add up over time, unless the load is constant."""


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

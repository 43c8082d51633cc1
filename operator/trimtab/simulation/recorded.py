"""What a live pipeline's metrics recorded, as a scenario: the same load on what it has learned.

The plant is the pipeline's own model, so a replay says what the law would have done with what is
known now; it cannot say more about the pipeline than the model does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.errors import BadInputError
from trimtab.simulation.plant_model import BatchCost, Plant
from trimtab.simulation.scenario import Scenario, Start
from trimtab.simulation.shapes import Load
from trimtab.tuning.capacity.learning import at_settings
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.policy import Policy

Series = Sequence[tuple[float, float]]
"""Seconds since 1970, and a value."""

LEAST_STEP_S, SAMPLES = 15.0, 1440
"""A recording has so many samples, and none closer: one a minute for a day."""

NOISE = 0.12
"""Of a batch's time, as measured on the real driver (docs/benchmarks/simulator.md)."""

LEAST = 10
"""Samples of the input below which there is nothing to replay."""

Ask = Callable[[str], Series]
"""The answer to a range query."""


def step_s(span_s: float) -> float:
    """Between two samples of a recording that is as long as that."""
    return max(LEAST_STEP_S, span_s / SAMPLES)


@dataclass(frozen=True, slots=True)
class Recording:
    """What was recorded of one pipeline, every `step_s`; what is missing is unknown."""

    start_s: float
    end_s: float
    input: Series
    """Records/s."""
    executors: Series
    met: Series
    """1 while the goal was met, else 0."""

    @property
    def step_s(self) -> float:
        """Between two samples."""
        return step_s(self.end_s - self.start_s)

    @property
    def known(self) -> float:
        """Share of the time of which the input is known."""
        return min(1.0, len(self.input) * self.step_s / (self.end_s - self.start_s))

    @property
    def held(self) -> float | None:
        """Share of the known samples in which the goal was met."""
        return sum(value for _, value in self.met) / len(self.met) if self.met else None

    @property
    def executor_hours(self) -> float:
        """Of executors that ran, in the time that is known."""
        return sum(value for _, value in self.executors) * self.step_s / 3600


def record(namespace: str, name: str, start_s: float, end_s: float, ask: Ask) -> Recording:
    """Ask for one series each of input, executors and goal."""
    own = f"namespace={json.dumps(namespace)},pipeline={json.dumps(name)}"
    of_operator = own.replace("namespace=", "pipeline_namespace=", 1)
    return Recording(
        start_s,
        end_s,
        ask(f"sum(rate(trimtab_partition_input_total{{{own}}}[2m]))"),
        ask(f'max(trimtab_executors{{{own},state="running"}})'),
        ask(f'max(trimtab_pipeline_condition{{{of_operator},type="GoalMet"}})'),
    )


def scenario(
    name: str, spec: StreamPipelineSpec, memory: ControllerState, partitions: int,
    recording: Recording,
) -> Scenario:  # fmt: skip
    """The recorded load on a plant that behaves like the learned model.

    Raises:
        BadInputError: nothing was recorded, or nothing learned yet.
    """
    if len(recording.input) < LEAST:
        raise BadInputError(
            f"Prometheus has {len(recording.input)} samples of the input of {name} in this time:"
            " look at an earlier time, or at what it scrapes"
        )
    model = at_settings(memory.points, memory.settings, partitions, waves=True)
    if model is None:
        raise BadInputError(f"{name} has learned nothing yet: there is no model to replay it on")
    settings, policy = memory.settings, Policy.of(spec)
    first = recording.executors[0][1] if recording.executors else settings.executors
    start = Start(
        executors=max(1, int(first)),
        cores=settings.cores or policy.cores,
        trigger=settings.trigger_s,
        max_offsets_per_trigger=settings.max_offsets,
    )
    return Scenario(
        name=name,
        duration=recording.end_s - recording.start_s,
        partitions=partitions,
        load=Load(step=_steps(recording)),
        plant=_plant(model, policy.max_executors * start.cores, start.cores),
        goal=spec.goal,
        limits=spec.limits,
        tuning=spec.tuning,
        start=start,
    )


def _steps(recording: Recording) -> list[tuple[float, float]]:
    """The input; where none is known, it stays as it was."""
    steps = [(max(0.0, at_s - recording.start_s), max(0.0, rate)) for at_s, rate in recording.input]
    return [(0.0, steps[0][1]), *(step for step in steps if step[0] > 0)]


def _plant(model: Model, slots: int, cores: int) -> Plant:
    """Capacity by slots, and the time outside of the work of one executor, as the model has them.

    Calls in flight count as they are: a replay moves executors, trigger and batch limit.
    """
    counts = range(1, slots + 1)
    cost = BatchCost(fixed_s=model.overhead_s(cores), noise=NOISE)
    return Plant(capacity={count: model.capacity(count) for count in counts}, batch=cost)

"""The shapes of a scenario's load: records/s over time, as written in the file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from trimtab.api.common import ApiModel

Number = Annotated[float, Field(ge=0)]


class Cosine(ApiModel):
    """mean + amplitude·cos(2π(t − phase)/period), never below 0."""

    mean: Number
    amplitude: Number
    period_s: Annotated[float, Field(gt=0)]
    phase_s: float = 0


class Ramp(ApiModel):
    """From one rate to another between two times, constant before and after."""

    start_s: Number
    end_s: Number
    low: Number
    high: Number


class Spikes(ApiModel):
    """A base rate with a peak of `width_s` every `every_s`."""

    base: Number
    peak: Number
    every_s: Annotated[float, Field(gt=0)]
    width_s: Number


class Walk(ApiModel):
    """A random walk between bounds, one Gaussian step every `every_s`."""

    start: Number
    step: Number
    low: Number
    high: Number
    every_s: Annotated[float, Field(gt=0)] = 60


class Drift(ApiModel):
    """A random walk with drift: every `every_s` one uniform step between −fall and +rise."""

    start: Number
    fall: Number
    rise: Number
    low: Number
    high: Number
    every_s: Annotated[float, Field(gt=0)] = 60


class Bursts(ApiModel):
    """A base rate; any quiet minute may start a burst that adds `low` to `high` for a while."""

    base: Number
    low: Number
    high: Number
    chance: Annotated[float, Field(ge=0, le=1)]
    """Probability that a burst starts in a minute without one."""
    least_s: Annotated[float, Field(gt=0)] = 60
    most_s: Annotated[float, Field(gt=0)] = 180


class Diurnal(ApiModel):
    """A day: low at night, high at noon, squeezed into `period_s`."""

    low: Number
    high: Number
    period_s: Annotated[float, Field(gt=0)] = 86400


class Load(ApiModel):
    """Records/s over time: exactly one shape, with noise per second."""

    step: Annotated[list[tuple[Number, Number]], Field(min_length=1)] | None = None
    csv: str | None = None
    cosine: Cosine | None = None
    ramp: Ramp | None = None
    spikes: Spikes | None = None
    walk: Walk | None = None
    drift: Drift | None = None
    bursts: Bursts | None = None
    diurnal: Diurnal | None = None
    noise: Number = 0

    @model_validator(mode="after")
    def _one_shape(self) -> Load:
        shapes = [name for name in type(self).model_fields if name != "noise"]
        if sum(getattr(self, name) is not None for name in shapes) != 1:
            raise ValueError(f"write exactly one of {', '.join(shapes)}")
        starts = [at for at, _ in self.step or [(0.0, 0.0)]]
        if starts[0] != 0 or starts != sorted(set(starts)):
            raise ValueError("the times of step must start at 0 and increase")
        return self

    @property
    def constant(self) -> bool:
        """Whether the rate is the same for the whole run."""
        return self.step is not None and len(self.step) == 1

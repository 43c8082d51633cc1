"""The part of a StreamPipeline's spec that says how the tuner may act."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from trimtab.api.common import ApiModel, cel
from trimtab.api.knobs import BY_NAME, KnobValues


def _check_knob(name: str) -> str:
    if name not in BY_NAME:
        raise ValueError(f"there is no knob {name!r}: write one of {', '.join(BY_NAME)}")
    return name


class Mode(StrEnum):
    """How far the tuner may go."""

    OBSERVE = "Observe"
    RECOMMEND = "Recommend"
    AUTO = "Auto"


class Profile(StrEnum):
    """What the tuner prefers where the spec leaves it open."""

    LATENCY = "latency"
    BALANCED = "balanced"
    COST = "cost"


class Bounds(ApiModel):
    """The dead band: raise from higher, release below lower, change nothing in between."""

    higher: float = Field(
        0.8, gt=0, le=1, description="Load from which the pipeline has too much to do."
    )
    lower: float = Field(
        0.5, gt=0, le=1, description="A smaller configuration is enough if its load is below this."
    )
    model_config = {
        "json_schema_extra": cel(
            ("self.lower < self.higher", "bounds: lower must be smaller than higher")
        )
    }


class TuningBounds(ApiModel):
    """The dead band, as far as it differs from the profile's."""

    higher: float | None = Field(
        None, gt=0, le=1, description="Load from which the pipeline has too much to do."
    )
    lower: float | None = Field(
        None, gt=0, le=1, description="A smaller configuration is enough if its load is below this."
    )
    model_config = {
        "json_schema_extra": cel(
            (
                "!has(self.lower) || self.lower < (has(self.higher) ? self.higher : 1.0)",
                "bounds: lower must be smaller than higher",
            )
        )
    }

    @model_validator(mode="after")
    def _lower_below_higher(self) -> TuningBounds:
        if self.lower is not None and self.lower >= (self.higher or 1.0):
            raise ValueError("bounds: lower must be smaller than higher")
        return self


class Dwell(ApiModel):
    """How much new evidence a change of regime needs, in batches, if not as the profile says."""

    up: int | None = Field(
        None, ge=1, le=100, description="Samples or batches above the bounds before a raise."
    )
    down: int | None = Field(
        None, ge=1, le=1000, description="Batches below the bounds before a release."
    )


class Locality(ApiModel):
    """How close to their data tasks run: a ladder of four scopes with bounds of its own."""

    enabled: bool = Field(False, description="Move locality.scope; begins at Process.")
    bounds: Bounds = Field(
        default_factory=Bounds,
        description="On the executors' mean load: a wider scope from higher, a narrower one below"
        " lower.",
    )


class JvmTuning(ApiModel):
    """Whose memory and collector advice may change, at a driver restart."""

    driver: bool = Field(True, description="False: resources.driver.memory is never raised.")
    executor: bool = Field(True, description="False: resources.executor.memory is never raised.")


KnobName = Annotated[
    str,
    AfterValidator(_check_knob),
    WithJsonSchema({"type": "string", "enum": list(BY_NAME)}),
]
"""Name of a knob that the control law moves."""

Approval = Annotated[list[KnobName], Field(max_length=len(BY_NAME))]
"""Knobs whose changes wait for a person."""


class Tuning(ApiModel):
    """How the tuner may move the knobs."""

    mode: Mode = Mode.AUTO
    profile: Profile | None = Field(
        None,
        description="Where the bounds lie and how fast the tuner acts, as far as bounds, dwell and"
        " the goal's catchUp do not say it: latency keeps more executors ready and the trigger"
        " short, cost keeps fewer."
        " Absent: balanced.",
    )
    pinned: KnobValues | None = Field(None, description="Values that the tuner never touches.")
    initial: KnobValues | None = Field(None, description="Values to begin with.")
    approval: Approval = Field(
        default_factory=list,
        description="Knobs whose changes wait for a person, although the mode is Auto.",
    )
    bounds: TuningBounds = Field(default_factory=TuningBounds)
    dwell: Dwell = Field(default_factory=Dwell)
    locality: Locality = Field(default_factory=Locality)
    forecast: bool | None = Field(
        None,
        description="False: plan only for the input that is seen. Otherwise executors start ahead"
        " of a steady rise, and of what is usual at that time of the day and week.",
    )
    jvm: JvmTuning = Field(default_factory=JvmTuning)
    reflex: bool | None = Field(
        None,
        description="True: the driver itself may raise executors at once, within the limits and"
        " what was learned; absent: only the operator does.",
    )

    @model_validator(mode="after")
    def _trigger_above_zero(self) -> Tuning:
        if any(values and values.trigger == 0 for values in (self.pinned, self.initial)):
            raise ValueError("tuning: a trigger of 0s is none: write a duration above zero")
        return self

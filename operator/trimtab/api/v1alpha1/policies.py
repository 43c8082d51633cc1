"""TuningPolicy and ClusterTuningPolicy: what those who run a cluster allow the tuner."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from trimtab.api.common import ApiModel, Condition, StatusModel
from trimtab.api.quantities import DAY_S, Duration, Quantity, between
from trimtab.api.ranges import KnobRules
from trimtab.api.schedule import Cron, Zone
from trimtab.api.selector import LabelSelector
from trimtab.api.v1alpha1.tuning import Approval, Dwell, Mode, Profile, TuningBounds


class Outside(StrEnum):
    """What may still change while no window is open."""

    NOTHING = "Nothing"
    RAISES = "Raises"


class Window(ApiModel):
    """A time in which changes are made, again and again."""

    start: Cron = Field(
        description="When it opens, as a cron expression of five fields, like '0 2 * * SAT,SUN'."
    )
    duration: Annotated[Duration, between(60.0, 7 * DAY_S)] = Field(
        description="How long it stays open."
    )
    time_zone: Zone = Field(
        "UTC", alias="timeZone", description="IANA time zone of start, like Europe/Berlin."
    )


class Values(ApiModel):
    """Values for what a pipeline's own spec may say too."""

    profile: Profile | None = Field(None, description="tuning.profile.")
    bounds: TuningBounds | None = Field(None, description="tuning.bounds.")
    dwell: Dwell | None = Field(None, description="tuning.dwell.")
    catch_up: Annotated[Duration, between(1.0, DAY_S)] | None = Field(
        None, alias="catchUp", description="catchUp of the goal."
    )


class Budget(ApiModel):
    """What the selected pipelines share."""

    cores: int | None = Field(
        None, ge=1, le=1_000_000, description="Task slots of all their executors together."
    )
    memory: Quantity | None = Field(None, description="Memory of all their executors together.")
    changes_at_once: int | None = Field(
        None,
        alias="changesAtOnce",
        ge=1,
        le=1000,
        description="Pipelines that may be in the middle of a change at the same time.",
    )


class TuningPolicySpec(ApiModel):
    """What the tuner may do with the selected pipelines of this namespace."""

    selector: LabelSelector = Field(
        default_factory=LabelSelector,
        description="The pipelines that it is for, by their labels; empty: all.",
    )
    priority: int = Field(
        0,
        ge=-1000,
        le=1000,
        description="Of two policies of one kind that say different values, the higher one counts.",
    )
    mode: Mode | None = Field(
        None, description="The most that the tuner may do, whatever a pipeline says."
    )
    defaults: Values = Field(
        default_factory=Values, description="For pipelines that say nothing of their own."
    )
    overrides: Values = Field(
        default_factory=Values, description="Whatever a pipeline, or a policy below, says."
    )
    knobs: KnobRules = Field(default_factory=KnobRules, description="What each knob may do.")
    approval: Approval = Field(
        default_factory=list, description="Knobs whose changes wait for a person."
    )
    pauses_per_hour: int | None = Field(
        None,
        alias="pausesPerHour",
        ge=0,
        le=3600,
        description="Most changes within an hour that pause a pipeline.",
    )
    windows: Annotated[list[Window], Field(max_length=16)] = Field(
        default_factory=list,
        description="Changes are made only while one of these is open. Empty: always.",
    )
    outside_windows: Outside = Field(
        Outside.NOTHING,
        alias="outsideWindows",
        description="Raises: while none is open, what carries more may still be raised.",
    )
    budget: Budget = Field(default_factory=Budget, description="What the selected pipelines share.")


class ClusterTuningPolicySpec(TuningPolicySpec):
    """What the tuner may do with the selected pipelines of the cluster."""

    namespaces: Annotated[
        list[Annotated[str, Field(max_length=63, pattern=r"^[a-z0-9*]([-a-z0-9*]*[a-z0-9*])?$")]],
        Field(max_length=256),
    ] = Field(
        default_factory=list,
        description="Names of namespaces, * standing for any characters. Empty: all.",
    )


class TuningPolicyStatus(StatusModel):
    """What became of a policy."""

    observed_generation: int = Field(
        -1, alias="observedGeneration", description="The metadata.generation that this is about."
    )
    conditions: Annotated[tuple[Condition, ...], Field(max_length=16)] = Field(
        (), description="What is the case, and why; one of each type."
    )
    pipelines: int | None = Field(None, description="Pipelines that it selects.")
    cores: int | None = Field(None, description="Task slots that they have now.")

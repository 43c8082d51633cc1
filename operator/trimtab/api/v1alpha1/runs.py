"""Runs that end: the pipeline takes on what there is, then stops until the next one."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from trimtab.api.common import ApiModel, StatusModel
from trimtab.api.quantities import DAY_S, Duration, between
from trimtab.api.schedule import Cron, Zone

RUN_ANNOTATION = "trimtab.dev/run"
"""A new value starts a run at once."""


class Runs(ApiModel):
    """When the pipeline runs, if not all the time.

    A run ends once everything is committed that was in the topics when its driver started. Between
    two runs there is neither driver nor executor.
    """

    schedule: Cron | None = Field(
        None,
        description="When a run starts, as a cron expression of five fields; absent: one run, at"
        " once. A start that comes during a run is left out.",
    )
    time_zone: Zone = Field(
        "UTC", alias="timeZone", description="IANA time zone of schedule, like Europe/Berlin."
    )
    deadline: Annotated[Duration, between(60.0, 30 * DAY_S)] | None = Field(
        None,
        description="A run that is not done after this time stops at a batch boundary all the"
        " same; the next one goes on from there. Absent: it may take as long as it needs.",
    )


class RunPhase(StrEnum):
    """Where a pipeline with runs is."""

    RUNNING = "Running"
    WAITING = "Waiting"
    ENDED = "Ended"


class RunEnd(StrEnum):
    """How a run ended."""

    DRAINED = "Drained"
    DEADLINE_EXCEEDED = "DeadlineExceeded"


class RunStatus(StatusModel):
    """The present run, or the last one and when the next starts."""

    phase: RunPhase = Field(description="Ended: no other run follows by itself.")
    since: str = Field(max_length=40, description="When this phase began.")
    started: str | None = Field(
        None, max_length=40, description="When the present or the last run started."
    )
    end: RunEnd | None = Field(None, description="How the last run ended.")
    next: str | None = Field(None, max_length=40, description="When the next run starts.")
    asked: str | None = Field(
        None,
        max_length=256,
        description="The value of the annotation trimtab.dev/run that was last acted on.",
    )

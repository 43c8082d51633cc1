"""The knobs: one list for settings.json, status.effective, pinned, initial and scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from trimtab.api.quantities import Duration, format_duration

TRIGGERS_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0)
"""The triggers that the batch-size knob chooses from, in seconds (design section 5)."""

MAX_EXECUTORS = 1000

SCOPES = ("Process", "Node", "Zone", "Any")
"""How far from its data a task may run, narrowest first; settings hold the index."""


class How(StrEnum):
    """How a change reaches the running driver, cheapest first."""

    LIVE = "live"
    QUERY = "query"
    DRIVER = "driver"


@dataclass(frozen=True, slots=True)
class Knob:
    """One tunable value: its name in the API, how it is applied, and its limits."""

    name: str
    how: How
    default: float
    minimum: float
    maximum: float
    unit: str

    def format(self, value: float) -> str:
        """The value as a person reads it, with its unit where it has one."""
        if self.unit == "scope":
            return SCOPES[int(value)]
        return format_duration(value) if self.unit == "s" else str(int(value))


EXECUTORS = Knob("executors", How.LIVE, 1, 0, MAX_EXECUTORS, "")
TRIGGER = Knob("trigger", How.QUERY, 10.0, 0.0, 3600.0, "s")
MAX_OFFSETS = Knob("maxOffsetsPerTrigger", How.QUERY, 10_000, 1, 10**9, "records")

MAX_IN_FLIGHT = Knob("maxInFlight", How.LIVE, 1, 1, 1000, "calls")
SCOPE = Knob("locality.scope", How.LIVE, 0, 0, len(SCOPES) - 1, "scope")

KNOBS: Mapping[str, Knob] = {k.name: k for k in (EXECUTORS, TRIGGER, MAX_OFFSETS)}
"""Every knob that the driver moves, by its name."""

ALL_KNOBS = (*KNOBS.values(), MAX_IN_FLIGHT, SCOPE)
"""Every knob that the control law moves: the last two in the simulator only, so far."""


class KnobValues(BaseModel):
    """A value for some or all knobs; absent means 'not said'."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    executors: int | None = Field(
        None, ge=0, le=MAX_EXECUTORS, description="Executor pods. Changed live."
    )
    trigger: Duration | None = Field(
        None,
        description="Time between the starts of two micro-batches. Changed by a query restart.",
    )
    max_offsets_per_trigger: int | None = Field(
        None,
        alias="maxOffsetsPerTrigger",
        ge=1,
        le=10**9,
        description="Most records in one micro-batch. Changed by a query restart.",
    )

    def numbers(self) -> dict[str, float]:
        """The values that are said, by knob name; durations in seconds."""
        fields = type(self).model_fields
        pairs = ((field.alias or name, getattr(self, name)) for name, field in fields.items())
        return {name: float(value) for name, value in pairs if value is not None}

    @classmethod
    def of(cls, numbers: Mapping[str, float]) -> KnobValues:
        """The model of plain numbers by knob name; raises ValidationError on an unknown name."""
        return cls.model_validate(
            {k: v if KNOBS.get(k) is TRIGGER else int(v) for k, v in numbers.items()}
        )

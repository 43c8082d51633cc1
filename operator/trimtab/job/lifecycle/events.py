"""What happens to the driver: the input of the state machine."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.api.contract import Settings
from trimtab.job.termination import JobFailureError


@dataclass(frozen=True, slots=True)
class Begin:
    """The process has begun."""


@dataclass(frozen=True, slots=True)
class TopicsFound:
    """All topics of source and sink exist."""


@dataclass(frozen=True, slots=True)
class ConnectFailed:
    """A topic is missing, or Kafka does not answer."""

    failure: JobFailureError


@dataclass(frozen=True, slots=True)
class CheckpointOpened:
    """The checkpoint fits the job; `used_before` tells whether it holds committed batches."""

    used_before: bool


@dataclass(frozen=True, slots=True)
class QueryFailed:
    """Why the query failed; `progressed`: it had reported a trigger since its start."""

    failure: JobFailureError
    progressed: bool


@dataclass(frozen=True, slots=True)
class NewSettings:
    """Newer settings have arrived."""

    settings: Settings


@dataclass(frozen=True, slots=True)
class MoreWanted:
    """The reflex wants this many executors, more than are asked for."""

    executors: int


@dataclass(frozen=True, slots=True)
class StopRequested:
    """Stop at the next boundary; requested at this time."""

    at: float


@dataclass(frozen=True, slots=True)
class Tick:
    """Whether the query is running, and whether every batch past the closed gate is committed."""

    active: bool = False
    at_boundary: bool | None = None
    """None while the gate is open."""


Event = (
    Begin
    | TopicsFound
    | ConnectFailed
    | CheckpointOpened
    | QueryFailed
    | NewSettings
    | MoreWanted
    | StopRequested
    | Tick
)

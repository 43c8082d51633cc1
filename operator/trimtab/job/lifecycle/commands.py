"""What the driver does: the output of the state machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.api.contract import Settings, SourceOptions
from trimtab.api.knobs import How
from trimtab.job.lifecycle.boundary import Outcome
from trimtab.job.termination import JobFailureError


@dataclass(frozen=True, slots=True)
class CheckTopics:
    """Check that the topics exist; answered by TopicsFound or ConnectFailed."""


@dataclass(frozen=True, slots=True)
class OpenCheckpoint:
    """Check the checkpoint against the job; answered by CheckpointOpened."""


@dataclass(frozen=True, slots=True)
class GoLive:
    """Hand over the knobs that the next batch picks up, and the number of executors."""

    knobs: Mapping[str, float]
    executors: int | None = None
    """None leaves it unchanged."""


@dataclass(frozen=True, slots=True)
class CountChange:
    """Count a change; `pauses_at` is the trigger of the query if the change interrupts it."""

    how: How
    pauses_at: float | None = None


@dataclass(frozen=True, slots=True)
class Adopt:
    """These settings are in force from now on; `changed` names what they change."""

    settings: Settings
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Start:
    """Start the query."""

    knobs: Mapping[str, float]
    source: SourceOptions


@dataclass(frozen=True, slots=True)
class Show:
    """Export the values in force; a start does this by itself."""


@dataclass(frozen=True, slots=True)
class CloseGate:
    """Let no further batch begin to write."""


@dataclass(frozen=True, slots=True)
class EndQuery:
    """Stop what is left of the query; `outcome` tells how the stop at the boundary went."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Diagnose:
    """Find out why the query failed; answered by QueryFailed."""


@dataclass(frozen=True, slots=True)
class Announce:
    """Report why the driver is not ready: the failure it waits out, or None for a stop."""

    failure: JobFailureError | None = None
    wait_s: float = 0.0


Command = (
    CheckTopics
    | OpenCheckpoint
    | GoLive
    | CountChange
    | Adopt
    | Start
    | Show
    | CloseGate
    | EndQuery
    | Diagnose
    | Announce
)

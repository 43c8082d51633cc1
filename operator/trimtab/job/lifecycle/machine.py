"""When the query starts, restarts, stops and gives up: decisions only, no I/O and no clock.

    connecting -> running -> stopping -> running     other settings, by a restart
        |  ^         |
        v  |         v
      waiting <-- failed                             what can heal is tried again

Any of them leads to `ended`: by way of `draining` where a query runs, at once where none does.

`step` takes a state, an event and the time, and returns the next state and the commands that go
with it. The runner carries the commands out in order and reports back with events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from trimtab.api.contract import Job, Settings, SourceOptions
from trimtab.api.knobs import EXECUTORS, KNOBS, TRIGGER, How
from trimtab.job import definition
from trimtab.job.lifecycle.backoff import Backoff
from trimtab.job.lifecycle.boundary import Outcome, judge_stop
from trimtab.job.termination import ExitCode, JobFailureError


class Phase(Enum):
    """What the driver is about."""

    CONNECTING = auto()
    """Asks Kafka for the topics, before each start that follows a failure and the first."""
    WAITING = auto()
    """Backs off before it asks again."""
    RUNNING = auto()
    FAILED = auto()
    """The query died by itself; why is being found out."""
    STOPPING = auto()
    """Ends the query at a batch boundary, to start it anew with other settings."""
    DRAINING = auto()
    """Ends the query at a batch boundary, for good."""
    ENDED = auto()


@dataclass(frozen=True, slots=True)
class State:
    """Where the driver stands."""

    job: Job
    settings: Settings
    """In force."""
    phase: Phase = Phase.CONNECTING
    opened: bool = False
    """The checkpoint was looked at, which happens once, before the first start."""
    pending: Settings | None = None
    """The newest settings that nobody applied yet."""
    applying: Settings | None = None
    """While it is stopping: those to start with."""
    backoff: Backoff = field(default_factory=Backoff)
    retry_at: float = 0.0
    """While it is waiting."""
    stop_at: float | None = None
    """When the stop was asked for; the drain timeout counts from then."""
    end: ExitCode | JobFailureError | None = None

    @property
    def knobs(self) -> dict[str, float]:
        """The value in force of every knob."""
        return definition.effective(self.settings, self.job)

    @property
    def at_gate(self) -> bool:
        """The gate is closed, and the batch that is past it is waited for."""
        return self.phase in {Phase.STOPPING, Phase.DRAINING}


# Events


@dataclass(frozen=True, slots=True)
class Begin:
    """The process has begun."""


@dataclass(frozen=True, slots=True)
class TopicsFound:
    """All topics of source and sink are there."""


@dataclass(frozen=True, slots=True)
class ConnectFailed:
    """They are not, or Kafka does not say."""

    failure: JobFailureError


@dataclass(frozen=True, slots=True)
class CheckpointOpened:
    """The checkpoint suits the job; whether batches were committed to it before."""

    used_before: bool


@dataclass(frozen=True, slots=True)
class QueryFailed:
    """Why the query died by itself; whether it had reported a trigger since its start."""

    failure: JobFailureError
    progressed: bool


@dataclass(frozen=True, slots=True)
class NewSettings:
    """Newer settings were found."""

    settings: Settings


@dataclass(frozen=True, slots=True)
class StopRequested:
    """End at the next boundary; asked for at that time."""

    at: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A look: whether the query runs, and whether the batch past the closed gate is committed."""

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
    | StopRequested
    | Tick
)

# Commands


@dataclass(frozen=True, slots=True)
class CheckTopics:
    """Ask Kafka for the topics; answered by TopicsFound or ConnectFailed."""


@dataclass(frozen=True, slots=True)
class OpenCheckpoint:
    """Compare the checkpoint with the job; answered by CheckpointOpened."""


@dataclass(frozen=True, slots=True)
class GoLive:
    """Hand over what the next batch takes up by itself, and how many executors there shall be."""

    knobs: Mapping[str, float]
    executors: int | None = None
    """None: as many as there are."""


@dataclass(frozen=True, slots=True)
class CountChange:
    """A change takes effect in this way; `pauses_at` is the trigger of the query it interrupts."""

    how: How
    pauses_at: float | None = None


@dataclass(frozen=True, slots=True)
class Adopt:
    """These settings are in force from now on; the names of what they changed."""

    settings: Settings
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Start:
    """Start the query."""

    knobs: Mapping[str, float]
    source: SourceOptions


@dataclass(frozen=True, slots=True)
class Show:
    """Export what is in force; a start does so by itself."""


@dataclass(frozen=True, slots=True)
class CloseGate:
    """Let no further batch begin to write."""


@dataclass(frozen=True, slots=True)
class EndQuery:
    """Stop what is left of the query, whose stop at the boundary went like this."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Diagnose:
    """Find out why the query died; answered by QueryFailed."""


@dataclass(frozen=True, slots=True)
class Announce:
    """Say why the driver is not ready: what is waited for, or None for a stop."""

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

Step = tuple[State, list[Command]]

# Transitions


def step(state: State, event: Event, now: float) -> Step:
    """The next state, and what to do; `now` in seconds of the clock that `StopRequested` tells."""
    match event:
        case StopRequested(at):
            return _stop(state, at)
        case NewSettings(settings):
            return replace(state, pending=settings), []
        case Tick():
            return _look(state, event, now)
        case QueryFailed(failure, progressed) if state.phase is Phase.FAILED:
            fresh = replace(state, backoff=Backoff()) if progressed else state
            return _heal(fresh, failure, now)
    if state.phase is not Phase.CONNECTING:
        return state, []  # a stop was asked for before the answer came
    match event:
        case Begin():
            return state, [CheckTopics()]
        case ConnectFailed(failure):
            return _heal(state, failure, now)
        case TopicsFound() if not state.opened:
            return state, [OpenCheckpoint()]
        case TopicsFound():
            return _start(state)
        case CheckpointOpened(used_before):
            return _first_start(state, used_before=used_before)
    return state, []


def _stop(state: State, at: float) -> Step:
    if state.stop_at is not None:
        return state, []
    asked = replace(state, stop_at=at)
    if state.phase is Phase.RUNNING:
        return replace(asked, phase=Phase.DRAINING), [Announce(), CloseGate()]
    if state.phase is Phase.STOPPING:
        return replace(asked, phase=Phase.DRAINING, applying=None), [Announce()]
    return replace(asked, phase=Phase.ENDED, end=ExitCode.CLEAN), [Announce()]


def _look(state: State, tick: Tick, now: float) -> Step:
    if state.phase is Phase.WAITING and now >= state.retry_at:
        return replace(state, phase=Phase.CONNECTING), [CheckTopics()]
    if state.phase is Phase.RUNNING and not tick.active:
        return replace(state, phase=Phase.FAILED), [Diagnose()]
    if state.phase is Phase.RUNNING and state.pending is not None:
        return _apply(replace(state, pending=None), state.pending)
    if state.at_gate and tick.at_boundary is not None:
        late = state.stop_at is not None and now - state.stop_at > state.job.drain_timeout_s
        outcome = judge_stop(active=tick.active, at_boundary=tick.at_boundary, give_up=late)
        if outcome is not None:
            return _stopped(state, outcome)
    return state, []


def _apply(state: State, new: Settings) -> Step:
    """Put settings in force by the cheapest way that what changed allows."""
    knobs, changed, hows = _difference(state, new)
    commands: list[Command] = []
    if How.LIVE in hows:
        # the scope before the count: it says where new executors go
        count = int(knobs[EXECUTORS.name]) if EXECUTORS.name in changed else None
        commands += [GoLive(knobs, count), CountChange(How.LIVE)]
    if How.QUERY in hows:
        return replace(state, phase=Phase.STOPPING, applying=new), [*commands, CloseGate()]
    return replace(state, settings=new), [*commands, Adopt(new, changed), Show()]


def _difference(
    state: State, new: Settings
) -> tuple[dict[str, float], tuple[str, ...], frozenset[How]]:
    """The knobs of other settings, the names of what they change, and how that takes effect."""
    old, knobs = state.knobs, definition.effective(new, state.job)
    changed = sorted(n for n in knobs.keys() | old.keys() if knobs.get(n) != old.get(n))
    hows = {KNOBS[name].how for name in changed}
    if new.source != state.settings.source:
        changed.append("source")
        hows.add(How.QUERY)
    return knobs, tuple(changed), frozenset(hows)


def _stopped(state: State, outcome: Outcome) -> Step:
    """The query has come to its end: start it with other settings, or end."""
    new = state.applying
    if new is None:
        code = ExitCode.UNCLEAN if outcome is Outcome.UNCLEAN else ExitCode.CLEAN
        return replace(state, phase=Phase.ENDED, end=code), [EndQuery(outcome)]
    _, changed, _ = _difference(state, new)
    commands: list[Command] = [
        EndQuery(outcome),
        CountChange(How.QUERY, pauses_at=state.knobs[TRIGGER.name]),
        Adopt(new, changed),
    ]
    state = replace(state, settings=new, applying=None)
    if outcome is Outcome.FAILED:
        return replace(state, phase=Phase.FAILED), [*commands, Diagnose()]
    state, start = _start(state)
    return state, [*commands, *start]


def _first_start(state: State, *, used_before: bool) -> Step:
    commands: list[Command] = []
    if used_before:  # the time since the last commit is a pause, by the restart of the driver
        commands.append(CountChange(How.DRIVER, pauses_at=state.knobs[TRIGGER.name]))
    commands += [GoLive(state.knobs), Adopt(state.settings)]
    state, start = _start(replace(state, opened=True))
    return state, [*commands, *start]


def _start(state: State) -> Step:
    running = replace(state, phase=Phase.RUNNING)
    return running, [Start(state.knobs, state.settings.source)]


def _heal(state: State, failure: JobFailureError, now: float) -> Step:
    """Try again later what can heal; end with the failure that cannot, or has not in 300 s."""
    wait_s, backoff = state.backoff.next(now) if failure.heals else (None, state.backoff)
    if wait_s is None:
        return replace(state, phase=Phase.ENDED, end=failure), []
    waiting = replace(state, phase=Phase.WAITING, backoff=backoff, retry_at=now + wait_s)
    return waiting, [Announce(failure, wait_s)]

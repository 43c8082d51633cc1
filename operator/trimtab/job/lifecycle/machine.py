"""When the query starts, restarts, stops and gives up: decisions only, no I/O and no clock.

    connecting -> running -> stopping -> running     new settings, by a restart
        |  ^         |
        v  |         v
      waiting <-- failed                             retried while it can heal

Every phase can lead to `ended`: through `draining` while a query runs, otherwise at once.

`step` takes a state, an event and the time, and returns the next state and the commands that go
with it. The runner carries the commands out in order and reports back with events.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto

from trimtab.api.contract import Job, Settings
from trimtab.api.knobs import EXECUTORS, KNOBS, TRIGGER, How
from trimtab.job import definition
from trimtab.job.lifecycle.backoff import Backoff
from trimtab.job.lifecycle.boundary import Outcome, judge_stop
from trimtab.job.lifecycle.commands import (
    Adopt,
    Announce,
    CheckTopics,
    CloseGate,
    Command,
    CountChange,
    Diagnose,
    EndQuery,
    GoLive,
    OpenCheckpoint,
    Show,
    Start,
)
from trimtab.job.lifecycle.events import (
    Begin,
    CheckpointOpened,
    ConnectFailed,
    Event,
    MoreWanted,
    NewSettings,
    QueryFailed,
    StopRequested,
    Tick,
    TopicsFound,
)
from trimtab.job.termination import ExitCode, JobFailureError


class Phase(Enum):
    """What the driver is doing."""

    CONNECTING = auto()
    """Checks the topics, before the first start and before each one that follows a failure."""
    WAITING = auto()
    """Backs off before the next try."""
    RUNNING = auto()
    FAILED = auto()
    """The query failed; the cause is being diagnosed."""
    STOPPING = auto()
    """Stops the query at a batch boundary, to restart it with new settings."""
    DRAINING = auto()
    """Stops the query at a batch boundary for good."""
    ENDED = auto()


@dataclass(frozen=True, slots=True)
class State:
    """The state of the driver."""

    job: Job
    settings: Settings
    """In force."""
    phase: Phase = Phase.CONNECTING
    opened: bool = False
    """Whether the checkpoint was checked, which happens once, before the first start."""
    raised_to: int | None = None
    """Executors that the reflex has asked for above the settings in force."""
    pending: Settings | None = None
    """The newest settings that are not applied yet."""
    applying: Settings | None = None
    """While stopping: the settings to restart with."""
    backoff: Backoff = field(default_factory=Backoff)
    retry_at: float = 0.0
    """While waiting: when to try again."""
    stop_at: float | None = None
    """When the stop was requested; the drain timeout counts from then."""
    end: ExitCode | JobFailureError | None = None

    @property
    def knobs(self) -> dict[str, float]:
        """The value in force of every knob."""
        knobs = definition.effective(self.settings, self.job)
        return knobs if self.raised_to is None else knobs | {EXECUTORS.name: float(self.raised_to)}

    @property
    def at_gate(self) -> bool:
        """Whether the gate is closed and the batch that has passed it may still be running."""
        return self.phase in {Phase.STOPPING, Phase.DRAINING}


Step = tuple[State, list[Command]]


def step(state: State, event: Event, now: float) -> Step:
    """The next state and the commands; `now` in seconds of the clock that StopRequested uses."""
    match event:
        case StopRequested(at):
            return _stop(state, at)
        case NewSettings(settings):
            return replace(state, pending=settings), []
        case MoreWanted(executors):
            return _raise(state, executors)
        case Tick():
            return _look(state, event, now)
        case QueryFailed(failure, progressed) if state.phase is Phase.FAILED:
            fresh = replace(state, backoff=Backoff()) if progressed else state
            return _heal(fresh, failure, now)
    if state.phase is not Phase.CONNECTING:
        return state, []  # a stop was requested before the answer came
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
    """Apply settings in the cheapest way that their changes allow."""
    knobs, changed, hows = _difference(state, new)
    commands: list[Command] = []
    if How.LIVE in hows:
        # the scope comes first: it determines where new executors go
        count = int(knobs[EXECUTORS.name]) if EXECUTORS.name in changed else None
        commands += [GoLive(knobs, count), CountChange(How.LIVE)]
    if How.QUERY in hows:
        return replace(state, phase=Phase.STOPPING, applying=new), [*commands, CloseGate()]
    new_state = replace(state, settings=new, raised_to=None)
    return new_state, [*commands, Adopt(new, changed), Show()]


def _raise(state: State, executors: int) -> Step:
    """Ask for more executors than the settings have; newer settings have the last word."""
    more = executors > state.knobs.get(EXECUTORS.name, executors)
    if state.phase is not Phase.RUNNING or state.pending is not None or not more:
        return state, []
    state = replace(state, raised_to=executors)
    return state, [GoLive(state.knobs, executors), CountChange(How.LIVE), Show()]


def _difference(
    state: State, new: Settings
) -> tuple[dict[str, float], tuple[str, ...], frozenset[How]]:
    """The new knobs, the names of what changes, and the ways in which that takes effect."""
    old, knobs = state.knobs, definition.effective(new, state.job)
    changed = sorted(n for n in knobs.keys() | old.keys() if knobs.get(n) != old.get(n))
    hows = {KNOBS[name].how for name in changed}
    if new.source != state.settings.source:
        changed.append("source")
        hows.add(How.QUERY)
    return knobs, tuple(changed), frozenset(hows)


def _stopped(state: State, outcome: Outcome) -> Step:
    """The query has stopped: restart it with the new settings, or end."""
    new = state.applying
    if new is None and outcome is Outcome.FAILED:
        return replace(state, phase=Phase.FAILED), [EndQuery(outcome), Diagnose()]
    if new is None:
        code = ExitCode.UNCLEAN if outcome is Outcome.UNCLEAN else ExitCode.CLEAN
        return replace(state, phase=Phase.ENDED, end=code), [EndQuery(outcome)]
    _, changed, _ = _difference(state, new)
    commands: list[Command] = [
        EndQuery(outcome),
        CountChange(How.QUERY, pauses_at=state.knobs[TRIGGER.name]),
        Adopt(new, changed),
    ]
    state = replace(state, settings=new, raised_to=None, applying=None)
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
    """Back off if the failure can heal; otherwise, after 300 s, or in a drain, end with it."""
    retries = failure.heals and state.stop_at is None
    wait_s, backoff = state.backoff.next(now) if retries else (None, state.backoff)
    if wait_s is None:
        return replace(state, phase=Phase.ENDED, end=failure), []
    waiting = replace(state, phase=Phase.WAITING, backoff=backoff, retry_at=now + wait_s)
    return waiting, [Announce(failure, wait_s)]

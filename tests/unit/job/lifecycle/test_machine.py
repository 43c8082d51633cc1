"""The driver's life in virtual time: starts, restarts, stops, failures, back-off and drains."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.unit.job.samples import job

from trimtab.api.contract import Job, Settings
from trimtab.api.knobs import How
from trimtab.job.lifecycle import commands, events, machine
from trimtab.job.lifecycle.backoff import GIVE_UP_S, LONGEST_WAIT_S
from trimtab.job.lifecycle.boundary import Outcome
from trimtab.job.lifecycle.machine import Phase, State
from trimtab.job.termination import ExitCode, JobFailureError, Reason

AWAY = JobFailureError(Reason.KAFKA_UNREACHABLE, "Kafka does not answer", heals=True)
MISSING = JobFailureError(Reason.TOPIC_NOT_FOUND, "no topic in")


def pods_job() -> Job:
    return job(drainTimeout="60s", executors={"image": "i", "memoryBytes": 10**9})


def settings(generation: int = 1, source: dict[str, Any] | None = None, **knobs: Any) -> Settings:
    document = {"generation": generation, "pipelineUid": "uid", "settings": knobs}
    return Settings.model_validate(document | ({"source": source} if source else {}))


@dataclass
class World:
    """Carries out commands in no time and moves a clock of its own; one look every 0.2 s."""

    job: Job = field(default_factory=pods_job)
    now: float = 100.0
    kafka: Callable[[float], JobFailureError | None] = lambda _: None
    used_before: bool = False
    active: bool = False
    progressed: bool = False
    at_boundary: bool = True
    why: JobFailureError = AWAY
    done: list[commands.Command] = field(default_factory=list)
    state: State = field(init=False)

    def __post_init__(self) -> None:
        self.state = State(self.job, settings(trigger="2s"))

    def feed(self, event: events.Event) -> None:
        waiting = deque([event])
        while waiting:
            self.state, decided = machine.step(self.state, waiting.popleft(), self.now)
            for command in decided:
                self.done.append(command)
                waiting.extend(self.answer(command))

    def answer(self, command: commands.Command) -> list[events.Event]:
        match command:
            case commands.CheckTopics():
                failure = self.kafka(self.now)
                return [events.ConnectFailed(failure) if failure else events.TopicsFound()]
            case commands.OpenCheckpoint():
                return [events.CheckpointOpened(self.used_before)]
            case commands.Diagnose():
                return [events.QueryFailed(self.why, self.progressed)]
            case commands.Start():
                self.active = True
            case commands.EndQuery():
                self.active = False
        return []

    def begin(self) -> World:
        self.feed(events.Begin())
        return self

    def look(self) -> None:
        self.now += 0.2
        at_gate = self.state.at_gate
        self.feed(events.Tick(self.active, self.at_boundary if at_gate else None))

    def run(self, seconds: float) -> None:
        """Until that time or the end."""
        until = self.now + seconds
        while self.now < until and self.state.end is None:
            self.look()

    def stop(self) -> None:
        self.feed(events.StopRequested(self.now))

    def of(self, kind: type[Any]) -> list[Any]:
        return [command for command in self.done if isinstance(command, kind)]

    def taken(self) -> list[str]:
        """What was done since the last time, by name."""
        names = [type(command).__name__ for command in self.done]
        self.done.clear()
        return names


# Starts


def test_a_first_start_opens_the_checkpoint_and_goes_live_before_the_query() -> None:
    world = World().begin()
    assert world.taken() == ["CheckTopics", "OpenCheckpoint", "GoLive", "Adopt", "Start"]
    assert world.state.phase is Phase.RUNNING


def test_a_start_on_a_used_checkpoint_counts_as_a_restart_of_the_driver() -> None:
    world = World(used_before=True).begin()
    assert world.of(commands.CountChange) == [commands.CountChange(How.DRIVER, pauses_at=2.0)]
    assert not World().begin().of(commands.CountChange)


def test_a_topic_that_is_missing_ends_the_driver_at_once() -> None:
    world = World(kafka=lambda _: MISSING).begin()
    assert world.state.end is MISSING
    assert not world.of(commands.Start)


def test_a_kafka_that_comes_back_is_waited_for() -> None:
    world = World(kafka=lambda now: AWAY if now < 120 else None).begin()
    assert world.state.phase is Phase.WAITING
    assert world.of(commands.Announce) == [commands.Announce(AWAY, 1.0)]
    world.run(60)
    assert [announced.wait_s for announced in world.of(commands.Announce)] == [1, 2, 4, 8, 10]
    assert len(world.of(commands.OpenCheckpoint)) == len(world.of(commands.Start)) == 1
    assert world.state.phase is Phase.RUNNING


def test_a_kafka_that_stays_away_is_given_up_after_five_minutes() -> None:
    world = World(kafka=lambda _: AWAY).begin()
    world.run(10_000)
    assert world.state.end is AWAY
    assert GIVE_UP_S <= world.now - 100 <= GIVE_UP_S + LONGEST_WAIT_S + 1


def test_a_stop_while_kafka_is_away_ends_at_once() -> None:
    world = World(kafka=lambda _: AWAY).begin()
    world.run(5)
    world.stop()
    assert world.state.end is ExitCode.CLEAN
    assert not world.of(commands.Start)


def test_a_stop_before_an_answer_starts_nothing() -> None:
    state = State(pods_job(), settings())
    state, _ = machine.step(state, events.Begin(), 0)
    state, _ = machine.step(state, events.StopRequested(1), 1)
    for late in (events.TopicsFound(), events.CheckpointOpened(used_before=True)):
        state, decided = machine.step(state, late, 2)
        assert (state.end, decided) == (ExitCode.CLEAN, [])


# Settings


def running(**changes: Any) -> World:
    world = World(**changes).begin()
    world.taken()
    return world


def test_live_knobs_are_handed_over_without_a_stop() -> None:
    world = running()
    new = settings(2, trigger="2s", executors=3)
    world.feed(events.NewSettings(new))
    assert world.taken() == [], "they are applied at the next look"
    world.look()
    live = world.of(commands.GoLive)[0]
    assert (live.executors, live.knobs["executors"]) == (3, 3)
    assert world.of(commands.CountChange) == [commands.CountChange(How.LIVE)]
    assert world.of(commands.Adopt) == [commands.Adopt(new, ("executors",))]
    assert world.taken() == ["GoLive", "CountChange", "Adopt", "Show"]


def test_the_count_of_executors_is_left_alone_by_other_live_knobs() -> None:
    world = running()
    world.feed(events.NewSettings(settings(2, trigger="2s", maxInFlight=4)))
    world.look()
    assert world.of(commands.GoLive)[0].executors is None


# Reflex


def test_more_executors_are_asked_for_at_once_and_shown() -> None:
    world = running()
    world.feed(events.MoreWanted(4))
    assert [live.executors for live in world.of(commands.GoLive)] == [4]
    assert world.taken() == ["GoLive", "CountChange", "Show"]
    assert (world.state.raised_to, world.state.knobs["executors"]) == (4, 4.0)
    assert world.state.settings.generation == 1
    world.feed(events.MoreWanted(3))
    assert world.taken() == [], "it never asks for fewer"


def test_newer_settings_have_the_last_word_over_a_raise() -> None:
    world = running()
    world.feed(events.MoreWanted(4))
    world.feed(events.NewSettings(settings(2, trigger="2s", executors=2)))
    world.feed(events.MoreWanted(5))
    assert world.state.raised_to == 4, "settings are waiting"
    world.look()
    assert world.of(commands.GoLive)[-1].executors == 2
    assert (world.state.raised_to, world.state.knobs["executors"]) == (None, 2.0)


def test_settings_that_adopt_a_raise_ask_for_nothing_more() -> None:
    world = running()
    world.feed(events.MoreWanted(4))
    world.taken()
    world.feed(events.NewSettings(settings(2, trigger="2s", executors=4)))
    world.look()
    assert world.taken() == ["Adopt", "Show"]


def test_a_raise_outlives_a_restart_of_the_query_with_the_same_executors() -> None:
    world = running()
    world.feed(events.MoreWanted(4))
    world.feed(events.NewSettings(settings(2, trigger="5s", executors=4)))
    world.run(1)
    assert world.of(commands.Start)[-1].knobs["executors"] == 4
    assert world.of(commands.GoLive)[-1].executors == 4
    assert world.state.raised_to is None


def test_nothing_is_raised_while_no_query_runs() -> None:
    world = World(kafka=lambda _: AWAY).begin()
    world.taken()
    world.feed(events.MoreWanted(4))
    assert (world.taken(), world.state.raised_to) == ([], None)


def test_settings_that_change_nothing_are_in_force_by_their_number() -> None:
    world = running()
    world.feed(events.NewSettings(settings(2, trigger="2s")))
    world.look()
    assert world.taken() == ["Adopt", "Show"]
    assert world.state.settings.generation == 2


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"trigger": "5s"}, "trigger"), ({"source": {"startingOffsets": "earliest"}}, "source")],
)
def test_what_needs_a_restart_waits_for_the_boundary(changes: dict[str, Any], named: str) -> None:
    world = running(at_boundary=False)
    new = settings(2, **({"trigger": "2s"} | changes))
    world.feed(events.NewSettings(new))
    world.run(600)
    assert world.taken() == ["CloseGate"], "without a stop signal a batch has all its time"
    assert world.state.settings.generation == 1
    world.at_boundary = True
    world.look()
    assert world.of(commands.EndQuery) == [commands.EndQuery(Outcome.CLEAN)]
    assert world.of(commands.CountChange) == [commands.CountChange(How.QUERY, pauses_at=2.0)]
    assert world.of(commands.Adopt) == [commands.Adopt(new, (named,))]
    start = world.of(commands.Start)[0]
    assert (start.knobs["trigger"], start.source) == (new.settings.numbers()["trigger"], new.source)
    assert world.taken() == ["EndQuery", "CountChange", "Adopt", "Start"]
    assert world.state.phase is Phase.RUNNING


def test_live_knobs_beside_a_restart_do_not_wait_for_it() -> None:
    world = running(at_boundary=False)
    world.feed(events.NewSettings(settings(2, trigger="5s", executors=2)))
    world.look()
    assert world.taken() == ["GoLive", "CountChange", "CloseGate"]


def test_newer_settings_during_a_restart_are_applied_after_it() -> None:
    world = running(at_boundary=False)
    world.feed(events.NewSettings(settings(2, trigger="5s")))
    world.look()
    world.feed(events.NewSettings(settings(3, trigger="6s")))
    world.feed(events.NewSettings(settings(4, trigger="7s")))
    world.at_boundary = True
    world.run(1)
    assert [adopted.settings.generation for adopted in world.of(commands.Adopt)] == [2, 4]
    assert world.state.knobs["trigger"] == 7.0


def test_a_query_that_dies_during_a_restart_is_diagnosed_with_the_new_settings() -> None:
    world = running(at_boundary=False)
    world.feed(events.NewSettings(settings(2, trigger="5s")))
    world.look()
    world.taken()
    world.active = False
    world.look()
    assert world.taken() == ["EndQuery", "CountChange", "Adopt", "Diagnose", "Announce"]
    assert world.state.settings.generation == 2
    world.run(2)
    assert world.of(commands.Start)[0].knobs["trigger"] == 5.0


# Failures


def test_a_query_that_died_of_what_heals_is_started_again_after_a_wait() -> None:
    world = running()
    world.active = False
    world.look()
    assert world.taken() == ["Diagnose", "Announce"]
    world.run(0.7)
    assert world.taken() == []
    world.run(0.4)
    assert world.taken() == ["CheckTopics", "Start"], "the checkpoint is opened once"


def test_a_query_that_died_of_what_does_not_heal_ends_the_driver() -> None:
    broken = JobFailureError(Reason.TRANSFORM_FAILED, "the transform raised KeyError")
    world = running(why=broken)
    world.active = False
    world.look()
    assert world.state.end is broken


def test_the_waits_grow_over_starts_until_one_of_them_has_got_somewhere() -> None:
    world = running()

    def die() -> float:
        world.active = False
        world.look()
        wait_s = world.of(commands.Announce)[-1].wait_s
        world.run(wait_s + 0.5)
        return wait_s

    assert [die(), die(), die()] == [1, 2, 4]
    world.progressed = True
    assert die() == 1


def test_a_query_that_dies_again_and_again_is_given_up_after_five_minutes() -> None:
    world = running()
    begin = world.now
    while world.state.end is None:
        world.active = False
        world.look()
    assert world.state.end is AWAY
    assert GIVE_UP_S <= world.now - begin <= GIVE_UP_S + LONGEST_WAIT_S + 1


def test_settings_wait_for_a_query_that_is_healing() -> None:
    world = running()
    world.active = False
    world.look()
    world.feed(events.NewSettings(settings(2, trigger="5s")))
    world.run(0.5)
    assert not world.of(commands.Adopt)
    world.run(2)
    assert [adopted.settings.generation for adopted in world.of(commands.Adopt)] == [2]


def test_a_stop_while_a_dead_query_is_waited_for_ends_at_once() -> None:
    world = running()
    world.active = False
    world.look()
    world.stop()
    assert world.state.end is ExitCode.CLEAN


# Drains


def test_a_drain_ends_at_the_boundary() -> None:
    world = running(at_boundary=False)
    world.stop()
    assert world.taken() == ["Announce", "CloseGate"]
    world.run(30)
    assert world.state.end is None
    world.at_boundary = True
    world.look()
    assert world.of(commands.EndQuery) == [commands.EndQuery(Outcome.CLEAN)]
    assert world.state.end is ExitCode.CLEAN


def test_a_batch_that_outlasts_the_drain_timeout_is_cut_short() -> None:
    world = running(at_boundary=False)
    begin = world.now
    world.stop()
    world.run(1000)
    assert world.of(commands.EndQuery) == [commands.EndQuery(Outcome.UNCLEAN)]
    assert world.state.end is ExitCode.UNCLEAN
    assert 60 < world.now - begin <= 60.5


def test_the_drain_timeout_counts_from_the_signal_and_not_from_the_restart_before_it() -> None:
    world = running(at_boundary=False)
    world.feed(events.NewSettings(settings(2, trigger="5s")))
    world.run(300)
    begin = world.now
    world.stop()
    world.run(1000)
    assert world.state.end is ExitCode.UNCLEAN
    assert 60 < world.now - begin <= 60.5
    assert world.taken().count("CloseGate") == 1
    assert world.state.settings.generation == 1, "nothing is started any more"


def test_a_second_signal_gives_no_more_time() -> None:
    world = running(at_boundary=False)
    world.stop()
    world.run(50)
    world.stop()
    world.run(12)
    assert world.state.end is ExitCode.UNCLEAN


@pytest.mark.parametrize("why", [AWAY, MISSING], ids=["may heal", "stays"])
def test_a_query_that_dies_in_a_drain_ends_the_driver_with_its_failure(
    why: JobFailureError,
) -> None:
    world = running(at_boundary=False)
    world.why = why
    world.stop()
    world.active = False
    world.look()
    assert world.of(commands.EndQuery) == [commands.EndQuery(Outcome.FAILED)]
    assert world.state.end is why


def test_a_look_from_before_the_gate_was_closed_decides_nothing() -> None:
    world = running()
    world.stop()
    world.now += 100
    world.feed(events.Tick(active=True))
    assert world.state.end is None

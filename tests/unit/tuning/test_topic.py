"""More partitions of the topic: how many, only with leave, last of all, and never taken back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import POINTS, START, batch, policy, signals

from trimtab.api.reasons import Action, Reason
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.tuning import guards, knobs, messages
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.context import Context
from trimtab.tuning.controller_state import ControllerState, Trial
from trimtab.tuning.dwell import DwellCounter
from trimtab.tuning.knobs import split, topic
from trimtab.tuning.law import decide
from trimtab.tuning.snapshot import ExternalConstraints, Snapshot

TWO = replace(START, executors=2, trigger_s=5.0)


def at(most: int | None = 64, **changes: Any) -> Context:
    """Two executors on two partitions, with room for eight."""
    seen = {"partitions": 2, "executors_running": 2} | changes.pop("seen", {})
    asked = policy(max_topic_partitions=most, max_executors=8, **changes.pop("asked", {}))
    given = {"settings": TWO, "points": POINTS, "asked": asked} | changes
    return context(load=280.0, seen=seen, **given)


def test_a_multiple_of_the_slots_that_leaves_room_for_all_executors() -> None:
    offer = topic.KNOB.raise_(at())
    assert offer is not None
    executors, partitions = offer.settings.executors, offer.settings.topic_partitions
    assert executors == 5
    assert partitions == 10, "a multiple of five, and one at least for each slot of the limits"
    assert offer.predicted <= 0.8
    assert offer.reason is Reason.PARTITIONS_RAISED


@pytest.mark.parametrize(("cores", "expected"), [(2, 16), (3, 24)])
def test_slots_count_and_not_executors(cores: int, expected: int) -> None:
    wide = at(asked={"cores": cores})
    wanted = topic.wanted(wide)
    assert wanted is not None
    assert wanted.partitions % (wanted.executors * cores) == 0
    assert wanted.partitions >= expected


@pytest.mark.parametrize(("most", "partitions"), [(9, 5), (5, 5), (3, 3), (2, None), (None, None)])
def test_the_limit_is_kept_and_still_a_multiple(most: int | None, partitions: int | None) -> None:
    offer = topic.KNOB.raise_(at(most))
    assert (offer.settings.topic_partitions if offer else None) == partitions


def test_without_leave_it_is_advice() -> None:
    seen = at(None)
    assert topic.KNOB.raise_(seen) is None
    assert topic.advised(seen, Kind.SOURCE_PARTITIONS) == 10
    assert topic.advised(seen, Kind.CPU) is None


def test_against_skew_as_many_as_an_even_share_asks_for() -> None:
    four = replace(START, executors=4, trigger_s=5.0)
    seen = at(settings=four, points=(Point(4, 1400, 0.1, 6.0),),
              seen={"partitions": 12, "hottest_share": 0.5})  # fmt: skip
    wanted = topic.wanted(seen)
    assert wanted is not None
    assert (wanted.partitions, wanted.executors) == (24, 4)


def test_it_comes_after_all_that_can_be_put_back() -> None:
    both = at(asked={"max_tasks": 64})
    offers = knobs.raising(both, Kind.SOURCE_PARTITIONS)
    assert [offer.knob for offer in offers] == [split.KNOB.name, topic.KNOB.name]
    most = at(asked={"max_tasks": 64, "maximum": True, "target_s": None})
    assert topic.KNOB.name not in [offer.knob for offer in knobs.raising(most, Kind.CPU)]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"seen": {"state_rows": 0.0}}, "dropped as late"),
        (
            {"constraints": ExternalConstraints(topic_fixed="others read it too")},
            "others read it too",
        ),
    ],
)
def test_what_would_suffer_forbids_it(given: dict[str, Any], told: str) -> None:
    offer = topic.KNOB.raise_(at())
    assert offer is not None
    veto = guards.own(at(**given), offer)
    assert veto is not None
    assert veto.reason is Reason.TOPIC_FIXED
    assert told in veto.message
    assert guards.own(at(), offer) is None
    beside = replace(offer, settings=replace(offer.settings, topic_partitions=None))
    assert guards.own(at(**given), beside) is None


@pytest.mark.parametrize(("most", "vetoed"), [(10, False), (9, True), (None, True)])
def test_more_than_the_limit_is_vetoed(most: int | None, vetoed: bool) -> None:
    offer = topic.KNOB.raise_(at())
    assert offer is not None
    assert (guards.limits(at(most), offer) is not None) == vetoed


ASKED = replace(TWO, executors=4, topic_partitions=8)


def watched(**changes: Any) -> ControllerState:
    opened = Trial(
        knob=topic.KNOB.name, generation=2, before=TWO, opened_at_s=900.0, raises=True,
        input_rate=280.0, load_before=1.6, predicted_load=0.7, settled=3, judged=1, batch="1/6",
    )  # fmt: skip
    points = (*POINTS, Point(4, 1400, 0.1, 12.0, batches=5))
    return ControllerState(2, ASKED, points=points, trial=replace(opened, **changes), taught="1/6")


def seen_after(partitions: int, **changes: Any) -> Any:
    late = batch(settings_generation=2, executors_min=4, records=1400, duration_s=12.0)
    return signals(
        batch=late, settings_generation=2, executors_running=4, partitions=partitions,
        input_rate=280.0, input_rate_long=280.0, lag_records=2800.0, **changes,
    )  # fmt: skip


def decided(memory: ControllerState, partitions: int, now_s: float = 1000.0, **changes: Any) -> Any:
    allowed = policy(max_topic_partitions=8, max_executors=8)
    snapshot = Snapshot(now_s, allowed, memory.settings, seen_after(partitions, **changes))
    return decide(snapshot, memory)


def test_only_batches_with_the_new_partitions_are_judged() -> None:
    held, after = decided(watched(judged=0, settled=0), 2)
    assert held.reason is Reason.TRIAL_OPEN
    assert after.trial is not None
    assert after.trial.settled == 0
    _, after = decided(watched(judged=0, settled=0), 8)
    assert after.trial is not None
    assert after.trial.settled == 1


@pytest.mark.parametrize(
    ("share", "now_s", "settled"), [(0.5, 1000.0, 0), (0.14, 1000.0, 1), (0.5, 1231.0, 1)]
)
def test_producers_are_given_the_time_to_see_the_new_partitions(
    share: float, now_s: float, settled: int
) -> None:
    """Two partitions of eight hold all records until the producers look again, every 300 s."""
    held, after = decided(watched(judged=0, settled=0), 8, now_s, hottest_share=share)
    assert held.reason is Reason.TRIAL_OPEN
    assert after.trial is not None
    assert after.trial.settled == settled
    assert ("do not write to its new partitions yet" in held.message) == (settled == 0)


def test_what_more_partitions_would_allow_is_not_called_infeasible() -> None:
    one = at(2, asked={"target_s": 12.0})
    allowed = at(16, asked={"target_s": 12.0})
    assert "no setting within the limits" in messages.infeasible(one)
    assert messages.infeasible(allowed) == ""


def test_what_did_not_help_keeps_the_partitions_and_is_remembered() -> None:
    ended, after = decided(watched(), 8)
    assert (ended.action, ended.reason) == (Action.REVERT, Reason.TRIAL_NO_GAIN)
    assert ended.changes == ("executors 4 -> 2",)
    assert "none can be removed" in ended.message
    assert after.settings.topic_partitions == 8
    assert [v.knob for v in after.verdicts] == [topic.KNOB.name]


def test_a_topic_that_does_not_grow_ends_the_trial_with_a_pointer() -> None:
    ended, after = decided(watched(), 2, now_s=1300.0)
    assert (ended.action, ended.reason) == (Action.REVERT, Reason.TOPIC_NOT_RAISED)
    assert "KafkaCluster" in ended.message
    assert after.settings == TWO


def test_the_limit_taken_away_ends_the_asking_and_the_memory_reads_back() -> None:
    memory = replace(watched(), trial=None, evidence=DwellCounter())
    assert ControllerState.from_dict(memory.to_dict()) == memory
    snapshot = Snapshot(1000.0, policy(max_executors=8), memory.settings, None)
    decision, after = decide(snapshot, memory)
    assert decision.reason is Reason.CLAMPED
    assert after.settings.topic_partitions is None


def test_the_driver_is_told_nothing_of_it() -> None:
    assert ASKED.numbers()["topicPartitions"] == 8
    assert "topicPartitions" not in ASKED.knob_values().numbers()

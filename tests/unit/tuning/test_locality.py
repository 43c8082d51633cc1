"""The locality ladder: wider when the executors are loaded, nearer when they are light."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import (
    START,
    batch,
    memory,
    overloaded,
    policy,
    signals,
    snapshot,
)

from trimtab.api.knobs import SCOPES
from trimtab.api.reasons import Action, Reason
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.v1alpha1.tuning import Bounds, Mode
from trimtab.tuning.capacity.learning import at_settings
from trimtab.tuning.capacity.points import Point, learn
from trimtab.tuning.decision import NOTHING
from trimtab.tuning.diagnosis.bottleneck import diagnose
from trimtab.tuning.knobs import clamp, locality
from trimtab.tuning.law import decide

LADDER = policy(target_s=20.0, locality=Bounds())
PROCESS, NODE, ZONE, ANY = range(len(SCOPES))


def loads(process: float | None, any_: float | None) -> dict[str, float]:
    """The mean load of the executors of both scopes of the ladder."""
    known = {"Process": process, "Any": any_}
    return {scope: load for scope, load in known.items() if load is not None}


def drift(scope: int | None, process: float | None, any_: float | None) -> int | None:
    settings = replace(START, scope=scope)
    seen = {"scope_load": loads(process, any_)}
    offer = locality.drift(context(load=10.0, asked=LADDER, settings=settings, seen=seen))
    return offer.settings.scope if offer else None


@pytest.mark.parametrize(
    ("scope", "process", "any_", "then"),
    [
        (PROCESS, 0.8, 0.4, ANY), (PROCESS, 0.79, 0.79, None), (PROCESS, 0.1, 0.1, None),
        (ANY, 0.49, 0.49, PROCESS), (ANY, 0.6, 0.3, None), (ANY, 0.95, 0.95, None),
        (NODE, 0.4, 0.4, PROCESS), (ZONE, 0.9, 0.9, ANY), (ZONE, 0.9, 0.6, None),
        (None, 0.9, 0.9, None), (ANY, None, None, None), (PROCESS, None, None, None),
    ],
)  # fmt: skip
def test_the_present_scope_decides_on_a_wider_one_and_the_nearer_one_on_itself(
    scope: int | None, process: float | None, any_: float | None, then: int | None
) -> None:
    assert drift(scope, process, any_) == then


def test_the_dwell_of_a_change_of_scope_is_counted_in_batches() -> None:
    """One executor, lightly loaded: narrower after four batches, not after four ticks."""
    held = memory(settings=replace(START, scope=3))
    reasons = []
    for number, tick in enumerate((8, 8, 9, 10, 10, 11)):
        seen = signals(
            batch=batch(id=tick), scope_load=loads(0.2, 0.2), sampled_at_s=1000.0 + number
        )
        decision, held = decide(snapshot(seen, held, LADDER), held)
        reasons.append(decision.reason)
    assert reasons == [Reason.WITHIN_BOUNDS] * 5 + [Reason.SCOPE_NARROWED]
    assert held.settings.scope == PROCESS


@pytest.mark.parametrize(
    ("mode", "action", "reason"),
    [
        (Mode.RECOMMEND, Action.RECOMMEND, Reason.SCOPE_NARROWED),
        (Mode.OBSERVE, Action.HOLD, Reason.OBSERVE_ONLY),
    ],
)
def test_a_change_of_scope_is_recommended_or_told_too(
    mode: Mode, action: Action, reason: Reason
) -> None:
    """It stands from tick to tick, as one and the same recommendation."""
    asked, held = replace(LADDER, mode=mode), memory(settings=replace(START, scope=ANY))
    for tick in range(8, 14):
        seen = signals(batch=batch(id=tick), scope_load=loads(0.2, 0.2))
        decision, held = decide(snapshot(seen, held, asked), held)
    assert (decision.action, decision.reason) == (action, reason)
    assert "mean load of 0.20" in decision.message
    assert held.settings.scope == ANY
    assert held.advice_record.given == (mode is Mode.RECOMMEND)


def test_a_change_of_scope_takes_no_recommendation_back() -> None:
    """Executors need an approval here, and the scope does not."""
    asked = replace(LADDER, approval=frozenset({"executors"}), pinned={"trigger": 5.0})
    held = memory(settings=replace(START, scope=PROCESS, trigger_s=5.0))
    given = []
    for tick in range(8, 20):
        one = batch(id=tick, records=2500, duration_s=22.9)
        seen = overloaded(batch=one, scope_load=loads(0.9, 0.85))
        decision, held = decide(snapshot(seen, held, asked), held)
        given.append(held.recommendation)
    assert decision.action is Action.RECOMMEND
    assert given[-1] is not None
    assert len(set(given[-8:])) == 1


def test_tasks_away_from_their_data_narrow_the_scope_at_once() -> None:
    settings = replace(START, scope=ANY, trigger_s=30.0, max_offsets=20_000)
    now = context(load=280.0, settings=settings, asked=LADDER, seen={"remote_share": 0.5})
    assert diagnose(now.snapshot, now.model, now.load).kind is Kind.LOCALITY
    offer = locality.KNOB.raise_(now)
    assert offer is not None
    assert (offer.settings.scope, offer.reason) == (PROCESS, Reason.SCOPE_NARROWED)


@pytest.mark.parametrize(
    ("process", "any_", "found"), [(0.9, 0.5, True), (0.9, 0.8, False), (0.7, 0.3, False)]
)
def test_tasks_that_wait_for_few_executors_widen_the_scope_at_once(
    process: float, any_: float, *, found: bool
) -> None:
    settings = replace(START, scope=PROCESS, trigger_s=30.0, max_offsets=20_000)
    seen = {"scope_load": loads(process, any_)}
    now = context(load=280.0, settings=settings, asked=LADDER, seen=seen)
    bottleneck = diagnose(now.snapshot, now.model, now.load)
    assert (bottleneck.kind is Kind.LOCALITY) == found
    offer = locality.KNOB.raise_(now)
    assert offer is not None
    assert (offer.settings.scope, offer.reason) == (ANY, Reason.SCOPE_WIDENED)
    if found:
        assert "prefer have a mean load of 0.90, all have 0.50" in bottleneck.evidence


def test_switched_off_the_scope_is_not_moved_and_a_cut_partition_has_no_near_executor() -> None:
    settings = replace(START, scope=0)
    loaded = {"scope_load": loads(0.95, 0.95), "partitions": 12}
    off = context(load=10.0, asked=policy(), settings=settings, seen=loaded)
    assert locality.drift(off) is None
    cut = replace(settings, min_partitions=24)
    asked = policy(target_s=20.0, locality=Bounds(), max_tasks=24)
    assert locality.drift(context(load=10.0, asked=asked, settings=cut, seen=loaded)) is None


@pytest.mark.parametrize(
    ("ladder", "said", "before", "after"),
    [(True, False, None, 0), (True, False, 2, 2), (False, False, 2, None), (False, True, 2, 2)],
)
def test_the_ladder_begins_near_and_leaves_nothing_behind(
    ladder: bool, said: bool, before: int | None, after: int | None
) -> None:
    asked = policy(locality=Bounds() if ladder else None, scope_said=said)
    assert clamp(asked, replace(START, scope=before)).scope == after


def test_a_change_says_which_executors_decided() -> None:
    settings, seen = replace(START, scope=ANY), {"scope_load": loads(0.4, 0.3)}
    now = context(load=10.0, asked=LADDER, settings=settings, seen=seen)
    offer = locality.drift(now)
    assert offer is not None
    words = locality.KNOB.cause(now, offer, NOTHING)
    assert words == "the executors of Process would have a mean load of 0.40"


@pytest.mark.parametrize(("process", "narrows"), [(1.7, False), (1.0, True), (0.79, True)])
def test_tasks_do_not_go_back_to_executors_that_they_would_crowd(
    process: float, *, narrows: bool
) -> None:
    settings = replace(START, scope=ANY, trigger_s=30.0, max_offsets=20_000)
    seen = {"remote_share": 0.5, "scope_load": loads(process, min(process, 0.85))}
    now = context(load=280.0, settings=settings, asked=LADDER, seen=seen)
    assert (diagnose(now.snapshot, now.model, now.load).kind is Kind.LOCALITY) == narrows
    assert (locality.KNOB.raise_(now) is not None) == narrows


def test_batches_of_another_scope_do_not_count_once_there_are_some_of_this_one() -> None:
    near, wide = replace(START, scope=PROCESS), replace(START, scope=ANY)
    crowded = (
        Point(2, 800, 0.2, 7.0, producer=near.way),
        Point(2, 1600, 0.2, 14.0, producer=near.way),
    )
    before = at_settings(crowded, wide, 6)
    after = at_settings(learn(crowded, Point(2, 800, 0.2, 3.6, producer=wide.way)), wide, 6)
    assert before is not None
    assert after is not None
    assert before.duration_s(800, 2) == pytest.approx(7.0, rel=0.1)
    assert after.duration_s(800, 2) == pytest.approx(3.6, rel=0.1)

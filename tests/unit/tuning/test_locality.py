"""The locality ladder: wider when the executors are loaded, nearer when they are light."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, batch, memory, policy, signals, snapshot

from trimtab.api.knobs import SCOPES
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.api.v1alpha1.tuning import Bounds
from trimtab.tuning.decision import NOTHING
from trimtab.tuning.diagnosis.bottleneck import diagnose
from trimtab.tuning.knobs import clamp, locality
from trimtab.tuning.law import decide

PLACES = {"Node": 3, "Zone": 3}
LADDER = policy(target_s=20.0, locality=Bounds())


def drift(scope: int | None, load: float | None) -> int | None:
    settings = replace(START, scope=scope)
    seen = {"executor_load": load, "places": {"Node": 3, "Zone": 3}}
    offer = locality.drift(context(load=10.0, asked=LADDER, settings=settings, seen=seen))
    return offer.settings.scope if offer else None


@pytest.mark.parametrize(
    ("scope", "load", "then"),
    [
        (0, 0.8, 1), (1, 0.95, 2), (2, 0.8, 3), (3, 0.9, None), (0, 0.79, None),
        (3, 0.49, 2), (1, 0.1, 0), (0, 0.1, None), (2, 0.5, None), (None, 0.9, None),
        (1, None, None),
    ],
)  # fmt: skip
def test_one_scope_at_a_time(scope: int | None, load: float | None, then: int | None) -> None:
    assert drift(scope, load) == then


def test_the_dwell_of_a_change_of_scope_is_counted_in_batches() -> None:
    """One executor, lightly loaded: narrower after four batches, not after four ticks."""
    held = memory(settings=replace(START, scope=3))
    reasons = []
    for number, tick in enumerate((8, 8, 9, 10, 10, 11)):
        seen = signals(
            batch=batch(id=tick), executor_load=0.2, places=PLACES, sampled_at_s=1000.0 + number
        )
        decision, held = decide(snapshot(seen, held, LADDER), held)
        reasons.append(decision.reason)
    assert reasons == [Reason.WITHIN_BOUNDS] * 5 + [Reason.SCOPE_NARROWED]
    assert SCOPES[held.settings.scope or 0] == "Zone"


def test_tasks_away_from_their_data_narrow_the_scope_at_once() -> None:
    now = context(load=280.0, settings=replace(START, scope=2, trigger_s=30.0, max_offsets=20_000),
                  asked=LADDER, seen={"remote_share": 0.5, "places": PLACES})  # fmt: skip
    assert diagnose(now.snapshot, now.model, now.load).kind is Kind.LOCALITY
    offer = locality.KNOB.raise_(now)
    assert offer is not None
    assert (offer.settings.scope, offer.reason) == (1, Reason.SCOPE_NARROWED)


def test_switched_off_the_scope_is_not_moved_and_a_cut_partition_has_no_near_executor() -> None:
    settings = replace(START, scope=0)
    loaded = {"executor_load": 0.95, "partitions": 12}
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


@pytest.mark.parametrize(
    ("places", "scope", "load", "then"),
    [
        ({}, 0, 0.9, 3), ({}, 3, 0.1, 0), ({"Node": 1, "Zone": 1}, 0, 0.9, 1),
        ({"Node": 1, "Zone": 1}, 1, 0.9, 3), ({"Node": 0, "Zone": 2}, 0, 0.9, 2),
    ],
)  # fmt: skip
def test_a_scope_that_means_nothing_here_stands_down(
    places: dict[str, int], scope: int, load: float, then: int
) -> None:
    settings, seen = replace(START, scope=scope), {"executor_load": load, "places": places}
    now = context(load=10.0, asked=LADDER, settings=settings, seen=seen)
    offer = locality.drift(now)
    assert offer is not None
    assert offer.settings.scope == then
    assert ("is skipped" in locality.KNOB.cause(now, offer, NOTHING)) == (abs(then - scope) > 1)

"""A batch that was planned larger than its limit: said so, not learned from, no reason to cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.test_decision import START, batch, memory, overloaded, policy, snapshot

from trimtab.api.reasons import Action, Reason
from trimtab.tuning.advice import oversize
from trimtab.tuning.capacity import running
from trimtab.tuning.capacity.learning import fitted
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.dwell import DwellCounter
from trimtab.tuning.law import decide
from trimtab.tuning.snapshot import Signals

KNEE = tuple(Point(1, n, 0.1, s, batches=5) for n, s in ((500, 2.0), (2500, 4.0), (6000, 40.0)))


def seen(**changes: Any) -> Signals:
    now = {"running_id": 17, "running_records": 120_000, "running_s": 300.0,
           "running_executors_min": 1, "running_replays": 1}  # fmt: skip
    return overloaded(**(now | changes))


@pytest.mark.parametrize(
    ("changes", "is_one"),
    [({}, True), ({"running_replays": 0}, False), ({"running_records": 2700}, False),
     ({"running_records": 2800}, True)],
)  # fmt: skip
def test_only_a_replay_beyond_the_limit_is_one(changes: dict[str, Any], is_one: bool) -> None:
    assert (oversize.running(seen(**changes), START) is not None) == is_one


@pytest.mark.parametrize("latest", [None, batch()])
def test_it_is_said_and_nothing_moves_while_it_runs(latest: Any) -> None:
    before = memory(evidence=DwellCounter(over=5))
    decision, after = decide(snapshot(seen(batch=latest), before), before)
    assert (decision.action, decision.reason) == (Action.HOLD, Reason.PLANNED_OVERSIZE)
    assert "batch 17 was planned with 120,000 records" in decision.message
    assert "lowered to 2,500" in decision.message
    assert "wait until it has ended" in decision.message
    assert replace(after, season=None) == before


def test_one_that_begins_again_and_again_asks_for_memory_or_executors() -> None:
    before = memory()
    decision, _ = decide(snapshot(seen(running_replays=3), before), before)
    assert "restarted 3 times: more memory" in decision.message
    assert "executors" in decision.message


def test_once_it_has_ended_it_is_no_ground_to_cut_the_limit_or_to_learn() -> None:
    before = memory(points=KNEE, evidence=DwellCounter(over=5))
    large = batch(id=17, records=120_000, duration_s=900.0)
    usual = overloaded(batch=large)
    cut, _ = decide(snapshot(usual, before), before)
    assert cut.settings != before.settings, "as a usual batch it would move the knobs"
    replayed = replace(usual, batch=replace(large, replayed=True))
    decision, after = decide(snapshot(replayed, before), before)
    assert (decision.action, decision.reason) == (Action.HOLD, Reason.PLANNED_OVERSIZE)
    assert replace(after, season=None) == before
    small = replace(usual, batch=batch(records=2500, duration_s=4.0, replayed=True))
    assert decide(snapshot(small, before), before)[0].reason is not Reason.PLANNED_OVERSIZE


def test_its_age_is_no_sign_of_a_slowdown() -> None:
    before = memory()
    new = seen(running_records=2000, running_replays=0)
    model = fitted(snapshot(new, before), before.points)
    assert model is not None
    assert running.late(snapshot(new, before), before, model) is not None
    again = replace(new, running_replays=1)
    assert running.late(snapshot(again, before, policy()), before, model) is None
